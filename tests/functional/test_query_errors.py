"""POST /api/query when the request is wrong: each sentence, code and status of the contract."""

from __future__ import annotations

import json
from typing import Any

import pytest
from functional.harness import OUT_OF_SCOPE, Api, Event, Json, Reply, post, rest_event

BAD_JSON = {"error": 'Request body must be a JSON object such as {"query": "..."}', "code": "invalid_json"}
NOT_A_STRING = {"error": "Query must be a string", "code": "invalid_query"}
EMPTY = {"error": "Query cannot be empty", "code": "empty_query"}
TOO_LONG = {"error": "Query exceeds maximum length of 1000 characters", "code": "query_too_long"}
TOO_LARGE = {"error": "Request body exceeds 64 KiB", "code": "body_too_large"}
NOT_JSON = {"error": "Content-Type must be application/json", "code": "unsupported_media_type"}

NOT_UTF_8 = "Request body must be JSON in UTF-8"
BODY_LIMIT = 64 * 1024


def refused(reply: Reply, status: int, body: Json) -> None:
    """Assert an error exactly: status, body, and headers."""
    assert (reply.status, reply.json) == (status, body)
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "body", [None, "{", '"query"', '{"query": NaN}', "[" * 30_000], ids=lambda body: repr(body)[:24]
)
def test_a_body_that_is_no_json_object(api: Api, body: str | None) -> None:
    refused(api.call(rest_event("POST", "/api/query", body, headers={})), 400, BAD_JSON)


def test_bytes_that_are_not_utf_8_and_base64_that_is_none(api: Api) -> None:
    for event in (post(b'{"query": "caf\xe9"}'), {**post("not base64"), "body": "x", "isBase64Encoded": True}):
        refused(api.call(event), 400, {"error": NOT_UTF_8, "code": "invalid_json"})


@pytest.mark.parametrize("body", [{"query": 7}, {"query": ["x"]}, {"Query": "x", "question": "x"}], ids=repr)
def test_a_query_that_is_no_string(api: Api, body: Json) -> None:
    refused(api.call(post(body)), 400, NOT_A_STRING)


@pytest.mark.parametrize("query", ["", "\u00a0\u2003"], ids=repr)
def test_an_empty_query(api: Api, query: str) -> None:
    refused(api.ask(query), 400, EMPTY)


@pytest.mark.parametrize("character", ["x", "é", "🚢"])
def test_a_thousand_characters_are_the_limit(api: Api, character: str) -> None:
    assert api.ask(character * 1000).status == 200
    assert api.ask(f"  {character * 1000}\n").status == 200
    refused(api.ask(character * 1001), 400, TOO_LONG)


SESSION_RULE = "sessionId must be 22-64 characters of A-Z a-z 0-9 _ -"
TOP_K_RULE = "topK must be a whole number from 1 to 50"
THRESHOLD_RULE = "threshold must be a number from -1 to 1: the cosine that the best chunk must reach"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [("topK", 51, TOP_K_RULE), ("threshold", 1.0001, THRESHOLD_RULE), ("sessionId", "a" * 21, SESSION_RULE)],
)
def test_a_parameter_out_of_bounds(api: Api, field: str, value: object, sentence: str) -> None:
    extra: Json = {field: value}
    refused(api.ask(OUT_OF_SCOPE, **extra), 400, {"error": sentence, "code": "invalid_parameter"})


SHAPE_RULE = (
    "filters must be an object that maps up to 20 metadata fields to a scalar, a list of scalars, "
    'or one of {"$gte"|"$lte"|"$gt"|"$lt"|"$ne": scalar}'
)
CONDITION = "a scalar, a non-empty list of scalars of one type, or one of $gte, $lte, $gt, $lt, $ne with a scalar"


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ([], SHAPE_RULE),
        ({"category": []}, f"filters.category must be {CONDITION}"),
        ({"priority": {"$gte": 1, "$lte": 5}}, f"filters.priority must be {CONDITION}"),
        ({"category": 7}, "filters.category has a value of the wrong type; the field holds text"),
        ({"priority": True}, "filters.priority has a value of the wrong type; the field holds whole numbers"),
        ({"sample": 1}, "filters.sample has a value of the wrong type; the field holds true or false"),
        ({"category": {"$gte": 7}}, "filters.category: $gte compares numbers; the field holds text"),
        ({"priority": 10**30}, "filters.priority: numbers must fit into 64 bits"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_filters_that_cannot_be_met(api: Api, filters: object, sentence: str) -> None:
    refused(api.ask(OUT_OF_SCOPE, filters=filters), 400, {"error": sentence, "code": "invalid_parameter"})


def test_an_unknown_field_is_named_beside_those_that_exist(api: Api) -> None:
    reply = api.ask(OUT_OF_SCOPE, filters={"Category": "x"})
    assert (reply.status, reply.json["code"]) == (400, "invalid_parameter")
    assert reply.json["error"].startswith("filters: unknown field 'Category'; this index knows: ")
    known = reply.json["error"].partition("knows: ")[2].split(", ")
    assert {"category", "doc_id", "jurisdiction", "last_updated", "priority", "sample", "title"} <= set(known)


@pytest.mark.parametrize("name", ["", "$and", "chroma:document", "\ud800"])
def test_names_that_no_field_may_have(api: Api, name: str) -> None:
    reply = api.ask(OUT_OF_SCOPE, filters={name: "x"})
    assert (reply.status, reply.json["code"]) == (400, "invalid_parameter")
    assert reply.json["error"].startswith("filters")
    assert reply.text.encode("utf-8")


def sized(length: int) -> str:
    """A valid body of ``length`` bytes."""
    frame = json.dumps({"query": OUT_OF_SCOPE, "padding": ""})
    return frame[:-2] + "x" * (length - len(frame)) + frame[-2:]


def test_64_kib_are_the_limit_of_a_body(api: Api) -> None:
    assert api.call(post(sized(BODY_LIMIT))).status == 200
    assert api.call(post(sized(BODY_LIMIT).encode())).status == 200
    refused(api.call(post(sized(BODY_LIMIT + 1))), 413, TOO_LARGE)
    refused(api.call(post(sized(BODY_LIMIT + 1).encode())), 413, TOO_LARGE)


def test_a_body_over_the_limit_is_too_large_whatever_its_bytes_mean(api: Api) -> None:
    refused(api.call(post(b"\xff" * (BODY_LIMIT + 1))), 413, TOO_LARGE)
    refused(api.call(post(b"\xff" * BODY_LIMIT)), 400, {"error": NOT_UTF_8, "code": "invalid_json"})


def test_the_limit_counts_bytes_not_characters(api: Api) -> None:
    body = json.dumps({"query": OUT_OF_SCOPE, "padding": "é" * (BODY_LIMIT // 2)}, ensure_ascii=False)
    assert len(body) < BODY_LIMIT
    refused(api.call(post(body)), 413, TOO_LARGE)


@pytest.mark.parametrize("kind", ["text/plain", "text/json", "multipart/form-data; boundary=x"])
def test_media_types_that_are_not_json(api: Api, kind: str) -> None:
    refused(api.call(post({"query": OUT_OF_SCOPE}, headers={"Content-Type": kind})), 415, NOT_JSON)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/web/../app.py"),
        ("GET", "/docs/no-such-page"),
        ("POST", "/api/queries"),
        ("GET", "/API/health"),
    ],
)
def test_paths_that_do_not_exist(api: Api, method: str, path: str) -> None:
    refused(api.call(rest_event(method, path)), 404, {"error": "No such path", "code": "not_found"})


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *((method, "/api/query", "POST") for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS")),
        ("POST", "/api/health", "GET"),
        ("GET", "/api/feedback", "POST"),
    ],
)
def test_methods_that_a_path_does_not_have(api: Api, method: str, path: str, allowed: str) -> None:
    reply = api.call(rest_event(method, path, "{}"))
    refused(reply, 405, {"error": f"Method not allowed; use {allowed}", "code": "method_not_allowed"})
    assert reply.headers["allow"] == allowed


def test_errors_repeat_nothing_of_a_wrong_value(api: Api) -> None:
    bodies: list[Any] = [
        {"query": OUT_OF_SCOPE, "topK": "<script>"},
        {"query": OUT_OF_SCOPE, "sessionId": "<script>"},
        {"query": OUT_OF_SCOPE, "filters": {"category": {"<script>": 1}}},
        {"query": ["<script>"]},
    ]
    for body in bodies:
        assert "<script>" not in api.call(post(body)).text


def test_the_function_goes_on_after_every_error(api: Api) -> None:
    events: list[Event] = [post("{"), post({"query": 7}), rest_event("GET", "/nowhere")]
    for event in events:
        assert api.call(event).status >= 400
        assert api.ask(OUT_OF_SCOPE).status == 200
