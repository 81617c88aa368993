"""Events: the samples of tests/events, direct ones, through a custom domain, of other origins, and anything else."""

import json
from typing import Any

import pytest
from functional.harness import IN_SCOPE, OUT_OF_SCOPE, REPOSITORY, Api, Event, Json, Reply, Start, post, rest_event
from functional.test_query_contract import steady

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


NO_OBJECT = {"error": 'Request body must be a JSON object such as {"query": "..."}', "code": "invalid_json"}
NO_QUERY = {"error": "Query must be a string", "code": "invalid_query"}


@pytest.mark.parametrize("event", [None, "httpMethod", ["httpMethod"]], ids=repr)
def test_an_event_that_is_no_object_is_400(api: Api, event: Any) -> None:
    reply = api.call(event)
    assert (reply.status, reply.json) == (400, NO_OBJECT)
    assert reply.headers["content-type"] == "application/json"
    assert [line["message"] for line in reply.logs] == ["request rejected"]


@pytest.mark.parametrize(
    "event",
    [
        {"query": 5},
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


def test_a_question_s_body_alone_is_answered_as_over_http(api: Api) -> None:
    direct, posted = api.call({"query": IN_SCOPE, "topK": 3}), api.ask(IN_SCOPE, topK=3)
    assert direct.status == 200
    assert steady(direct.json) == steady(posted.json)


@pytest.mark.parametrize("absent", ["headers", "multiValueHeaders", "requestContext", "body", "isBase64Encoded"])
def test_a_rest_event_may_lack_what_a_test_console_leaves_out(api: Api, absent: str) -> None:
    event = post({"query": OUT_OF_SCOPE})
    missing = api.call({name: value for name, value in event.items() if name != absent})
    assert missing.status == (400 if absent == "body" else 200)
    if absent in {"headers", "multiValueHeaders", "body"}:  # as API Gateway's own console sends them
        assert api.call({**event, absent: None}).status == missing.status


def through_domain(event: Event, resource: str, **parameters: str) -> Event:
    """``event`` as it comes through https://ask.example.org/help, for ``resource``."""
    path = f"/help{event['path']}"
    context = {**event["requestContext"], "path": path, "resourcePath": resource}
    changed = {"resource": resource, "path": path, "pathParameters": parameters or None, "requestContext": context}
    return {**event, **changed}


def test_below_a_base_path_the_resource_names_the_route(api: Api) -> None:
    reply = api.call(through_domain(post({"query": IN_SCOPE}), "/api/query"))
    assert (reply.status, reply.json["refused"]) == (200, False)
    chunk = rest_event("GET", "/api/chunks/id_1")
    reply = api.call(through_domain(chunk, "/api/chunks/{chunk_id}", chunk_id="id_1"))
    assert (reply.status, reply.json["id"]) == (200, "id_1")
    page = api.call(through_domain(rest_event("GET", "/"), "/"))
    assert (page.status, '<base href="/help/">' in page.text) == (200, True)
    for method, expected in (("GET", (405, "method_not_allowed")), ("POST", (400, "invalid_json"))):
        reply = api.call(through_domain(rest_event(method, "/api/query", "{"), "/api/query"))
        assert (reply.status, reply.json["code"]) == expected


def test_a_resource_that_names_no_route_leaves_the_path_to_decide(api: Api) -> None:
    event = {**rest_event("GET", "/api/health"), "resource": "/{proxy+}"}
    assert api.call(event).status == 200
    assert api.call({**event, "resource": "/api/{name}", "pathParameters": None}).status == 200


@pytest.mark.parametrize("encoded", [False, True], ids=["text", "base64"])
def test_a_byte_order_mark_before_the_json_is_skipped(api: Api, encoded: bool) -> None:
    text = '\ufeff{"query": "Who won the football world cup in 2018?"}'
    reply = api.call(rest_event("POST", "/api/query", text.encode() if encoded else text))
    assert (reply.status, reply.json["refused"]) == (200, True)


NAMED = "https://app.example,http://localhost:5173"
EXPOSED = {"access-control-expose-headers": "Retry-After", "vary": "Origin"}


def cors(reply: Reply) -> Json:
    return {name: value for name, value in reply.headers.items() if name.startswith("access-") or name == "vary"}


@pytest.mark.parametrize(
    ("allowed", "origin", "told"),
    [
        ("", "https://app.example", {}),
        (NAMED, "https://app.example", {"access-control-allow-origin": "https://app.example", **EXPOSED}),
        (NAMED, "https://app.example.evil.example", {"vary": "Origin"}),
        (NAMED, "null", {"vary": "Origin"}),
        (NAMED, "", {"vary": "Origin"}),
        ("*", "https://anybody.example", {"access-control-allow-origin": "*", **EXPOSED}),
    ],
)
def test_an_answer_is_for_the_pages_that_are_named(start: Start, allowed: str, origin: str, told: Json) -> None:
    api = start(ALLOWED_ORIGINS=allowed)
    headers = {"Content-Type": "application/json"} | ({"origin": origin} if origin else {})
    replies = [api.call(rest_event("GET", path, headers=headers)) for path in ("/v1/models", "/no-such-path")]
    assert [(reply.status, cors(reply)) for reply in replies] == [(200, told), (404, told)]


def test_a_preflight_is_answered_without_a_route(start: Start) -> None:
    api = start(ALLOWED_ORIGINS=NAMED)
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    reply = api.call(rest_event("OPTIONS", "/v1/chat/completions", headers=asked))
    assert (reply.status, reply.text) == (204, "")
    assert cors(reply) == {
        "access-control-allow-origin": "https://app.example",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "authorization, content-type, x-api-key",
        "access-control-max-age": "7200",
        **EXPOSED,
    }
    other = api.call(rest_event("OPTIONS", "/v1/chat/completions", headers={"Origin": "https://other.example"}))
    assert (other.status, cors(other)) == (204, {"vary": "Origin"})
    # Without origins it is a method that there is not.
    asked_in_vain = start(ALLOWED_ORIGINS="").call(rest_event("OPTIONS", "/api/query", headers=asked))
    assert (asked_in_vain.status, cors(asked_in_vain)) == (405, {})
