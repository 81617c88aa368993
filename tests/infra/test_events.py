"""The events for `sam local invoke` and `make invoke` do what their names say, through the real handler."""

from __future__ import annotations

from typing import Any

NO_INDEX = [503, "index_not_ready"]
"""There is no index here, so this is as far as a good question gets."""


def test_events_do_what_their_names_say(program: dict[str, Any]) -> None:
    assert program["answers"] == {
        "query": NO_INDEX,
        "question": NO_INDEX,
        "query_base64": NO_INDEX,
        "query_direct": NO_INDEX,
        "query_out_of_scope": NO_INDEX,
        "health": NO_INDEX,
        "keep_ready": NO_INDEX,
        "empty_query": [400, "empty_query"],
        "missing_query": [400, "invalid_query"],
        "not_a_string": [400, "invalid_query"],
        "too_long": [400, "query_too_long"],
        "invalid_json": [400, "invalid_json"],
        "no_body": [400, "invalid_json"],
        "invalid_utf8": [400, "invalid_json"],
        "invalid_top_k": [400, "invalid_parameter"],
        "feedback": [404, "unknown_response"],
        "feedback_invalid": [400, "invalid_parameter"],
        "wrong_media_type": [415, "unsupported_media_type"],
        "not_found": [404, "not_found"],
        "wrong_method": [405, "method_not_allowed"],
    }
