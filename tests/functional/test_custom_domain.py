"""A custom domain with a base path: API Gateway puts it before the path, and names the resource as ever."""

from __future__ import annotations

import pytest
from functional.harness import IN_SCOPE, Api, Event, post, rest_event


def through_domain(event: Event, resource: str, **parameters: str) -> Event:
    """``event`` as it comes through https://ask.example.org/help, for ``resource``."""
    path = f"/help{event['path']}"
    context = {**event["requestContext"], "path": path, "resourcePath": resource}
    return {
        **event,
        "resource": resource,
        "path": path,
        "pathParameters": parameters or None,
        "requestContext": context,
    }


def test_a_question_is_answered(api: Api) -> None:
    reply = api.call(through_domain(post({"query": IN_SCOPE}), "/api/query"))
    assert (reply.status, reply.json["refused"]) == (200, False)


def test_a_parameter_of_the_path_arrives(api: Api) -> None:
    event = rest_event("GET", "/api/chunks/id_1")
    reply = api.call(through_domain(event, "/api/chunks/{chunk_id}", chunk_id="id_1"))
    assert (reply.status, reply.json["id"]) == (200, "id_1")


def test_the_page_knows_its_address_below_the_base_path(api: Api) -> None:
    reply = api.call(through_domain(rest_event("GET", "/"), "/"))
    assert reply.status == 200
    assert '<base href="/help/">' in reply.text


@pytest.mark.parametrize(
    ("method", "expected"), [("GET", (405, "method_not_allowed")), ("POST", (400, "invalid_json"))]
)
def test_errors_are_those_of_the_route(api: Api, method: str, expected: tuple[int, str]) -> None:
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
