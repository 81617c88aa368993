"""Direct invocations: the body of a question alone, and whatever else somebody may send."""

from __future__ import annotations

from typing import Any

import pytest
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, Api, post

NO_OBJECT = {"error": 'Request body must be a JSON object such as {"query": "..."}', "code": "invalid_json"}
NO_QUERY = {"error": "Query must be a string", "code": "invalid_query"}


@pytest.mark.parametrize("event", [None, 5, "httpMethod", ["httpMethod"]], ids=repr)
def test_an_event_that_is_no_object_is_400(api: Api, event: Any) -> None:
    reply = api.call(event)
    assert (reply.status, reply.json) == (400, NO_OBJECT)
    assert reply.headers["content-type"] == "application/json"
    assert [line["message"] for line in reply.logs] == ["request rejected"]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"query": 5},
        {"httpMethod": "POST"},
        {"httpMethod": "POST", "path": None},
        {"httpMethod": 5, "path": "/api/query"},
        {"httpMethod": "POST", "path": "/api/query", "body": {"query": "x"}},
        {"version": "2.0", "rawPath": "/api/query", "body": "{}"},
    ],
    ids=repr,
)
def test_an_object_that_is_neither_a_question_nor_a_rest_event_is_400(api: Api, event: Any) -> None:
    reply = api.call(event)
    assert (reply.status, reply.json) == (400, NO_QUERY)


@pytest.mark.parametrize("question", [IN_SCOPE, OUT_OF_SCOPE])
def test_a_question_s_body_alone_is_answered_as_over_http(api: Api, question: str) -> None:
    direct, posted = api.call({"query": question, "topK": 3}), api.ask(question, topK=3)
    assert direct.status == 200
    for name in ("answer", "sources", "citations", "refused"):
        assert direct.json[name] == posted.json[name]


@pytest.mark.parametrize("absent", ["headers", "multiValueHeaders", "requestContext", "body", "isBase64Encoded"])
def test_a_rest_event_may_lack_what_a_test_console_leaves_out(api: Api, absent: str) -> None:
    event = post({"query": OUT_OF_SCOPE})
    missing = api.call({name: value for name, value in event.items() if name != absent})
    assert missing.status == (400 if absent == "body" else 200)
    if absent in {"headers", "multiValueHeaders", "body"}:  # as API Gateway's own console sends them
        assert api.call({**event, absent: None}).status == missing.status
