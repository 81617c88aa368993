"""The sample events of tests/events, as API Gateway would send them, each with what becomes of it."""

from __future__ import annotations

import json

import pytest
from functional.harness import REPOSITORY, Api

FOLDER = REPOSITORY / "tests" / "events"
EXPECTED: dict[str, tuple[int, str | None]] = {
    "empty_query": (400, "empty_query"),
    "feedback": (404, "unknown_response"),
    "feedback_invalid": (400, "invalid_parameter"),
    "health": (200, None),
    "invalid_json": (400, "invalid_json"),
    "invalid_top_k": (400, "invalid_parameter"),
    "invalid_utf8": (400, "invalid_json"),
    "missing_query": (400, "invalid_query"),
    "no_body": (400, "invalid_json"),
    "not_a_string": (400, "invalid_query"),
    "not_found": (404, "not_found"),
    "query": (200, None),
    "question": (200, None),
    "query_base64": (200, None),
    "query_out_of_scope": (200, None),
    "too_long": (400, "query_too_long"),
    "wrong_media_type": (415, "unsupported_media_type"),
    "wrong_method": (405, "method_not_allowed"),
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_an_event_gets_its_status_and_code(api: Api, name: str, expected: tuple[int, str | None]) -> None:
    event = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    reply = api.call(event)
    assert (reply.status, reply.json.get("code")) == expected
    if name.startswith("query"):
        assert reply.json["refused"] is ("out_of_scope" in name)


def test_every_gateway_event_is_in_the_table() -> None:
    events = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    assert {name for name, event in events.items() if "httpMethod" in event} == set(EXPECTED)
