"""POST /api/query: the shape of answers, declines and errors, and what a request may leave out."""

import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, REPOSITORY, Api, Event, Json, Reply, post, rest_event

from rag.http.schema import ErrorReply, HealthReply, QueryReply

SESSION = "abcdefghijklmnopqrstuv"
OPENAPI = json.loads((REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8"))
# CONTRACTS.md, by hand: the schema in the code must not be the only witness.
ANSWER_KEYS = {
    "answer", "modelText", "sources", "relatedDocs", "citations", "references", "citationsMarkdown", "confidence",
    "refused", "partial", "routing", "responseId", "sessionId", "metadata",
}  # fmt: skip
CITATION_KEYS = {
    "raw", "title", "section", "position", "fullTitle", "docId", "sourceUrls", "score", "matched", "id", "chunkId",
    "support",
}  # fmt: skip
REFERENCE_KEYS = {"n", "chunkId", "title", "section", "url", "docId", "support", "quote"}
METADATA_KEYS = {
    "query", "profile", "chunksRetrieved", "chunksUsed", "latencyMs", "model", "finishReason", "cached", "degraded",
    "statements", "trail", "skipped", "timings", "usage",
}  # fmt: skip


def schema_of(name: str) -> Json:
    """A schema of docs/openapi.json that can be validated against."""
    return {"$ref": f"#/components/schemas/{name}", "components": OPENAPI["components"]}


@pytest.fixture(scope="module")
def answer(api: Api) -> Reply:
    """An answer of the extractive engine."""
    return api.ask(IN_SCOPE)


@pytest.fixture(scope="module")
def decline(api: Api) -> Reply:
    """A question that the knowledge base does not answer."""
    return api.ask(OUT_OF_SCOPE)


def test_an_answer_has_the_keys_of_the_contract_and_no_others(answer: Reply) -> None:
    body = answer.json
    assert answer.status == 200
    assert set(body) == ANSWER_KEYS
    assert set(body["metadata"]) == METADATA_KEYS
    assert set(body["confidence"]) == {"level", "score", "reason", "raw"}
    assert body["citations"]
    assert body["sources"]
    assert body["relatedDocs"]
    assert all(set(citation) == CITATION_KEYS for citation in body["citations"])
    assert all(set(reference) == REFERENCE_KEYS for reference in body["references"])
    assert [reference["n"] for reference in body["references"]] == list(range(1, len(body["references"]) + 1))
    assert all(set(source) == {"title", "org", "url", "section", "references"} for source in body["sources"])
    assert all(set(doc) == {"title", "category", "docId", "url"} for doc in body["relatedDocs"])
    assert {"retrievalMs", "generationMs", "citationMs", "totalMs"} <= set(body["metadata"]["timings"])


@pytest.mark.parametrize("reply", ["answer", "decline"])
def test_replies_fit_the_schema_in_the_code_and_the_published_one(reply: str, request: pytest.FixtureRequest) -> None:
    body = request.getfixturevalue(reply).json
    assert QueryReply.model_validate(body).model_dump(mode="json") == body
    jsonschema.validate(body, schema_of("QueryReply"))


def test_errors_and_health_fit_the_published_schema(api: Api) -> None:
    error, health = api.ask("").json, api.health().json
    jsonschema.validate(error, schema_of("ErrorReply"))
    jsonschema.validate(health, schema_of("HealthReply"))
    assert ErrorReply.model_validate(error).model_dump() == error
    assert HealthReply.model_validate(health).model_dump(mode="json") == health


def test_the_published_paths_are_the_routes(api: Api) -> None:
    published = {(method.upper(), path) for path, methods in OPENAPI["paths"].items() for method in methods}
    assert published == {(route.method, re.sub("<(.*)>", r"{\1}", route.path)) for route in api.app.ROUTES}


def test_an_answer_says_who_wrote_it_from_what(answer: Reply) -> None:
    body = answer.json
    metadata = body["metadata"]
    assert body["refused"] is False
    assert body["routing"] is None
    assert metadata["query"] == IN_SCOPE
    assert metadata["profile"] == "waypoint"
    assert metadata["model"] == "extractive"
    assert metadata["usage"] is None
    assert metadata["cached"] is False
    assert metadata["degraded"] is False
    assert metadata["skipped"] == []
    assert 1 <= metadata["chunksRetrieved"] <= 10
    assert metadata["chunksUsed"] == len(body["citations"])
    assert metadata["latencyMs"] == metadata["timings"]["totalMs"]
    assert metadata["timings"]["totalMs"] >= metadata["timings"]["retrievalMs"] + metadata["timings"]["generationMs"]


def test_citations_stand_where_they_say_and_name_the_expected_document(answer: Reply) -> None:
    body = answer.json
    for citation in body["citations"]:
        start = citation["position"]
        assert body["answer"][start : start + len(citation["raw"])] == citation["raw"]
        assert citation["matched"] is True
        assert citation["id"] is None
        assert all(url.startswith("http") for url in citation["sourceUrls"])
        assert 0.15 <= citation["score"] <= 1
    assert "SG-REG-001" in {citation["docId"] for citation in body["citations"]}
    assert len({citation["title"].casefold() for citation in body["citations"]}) == len(body["citations"])


def test_sources_are_the_cited_addresses_each_once(answer: Reply) -> None:
    body = answer.json
    urls = [source["url"] for source in body["sources"]]
    assert len(urls) == len(set(urls))
    assert set(urls) == {url for citation in body["citations"] for url in citation["sourceUrls"]}


def test_related_documents_are_unique_and_their_categories_renamed(answer: Reply) -> None:
    related = answer.json["relatedDocs"]
    assert len({doc["docId"] for doc in related}) == len(related)
    assert {doc["category"] for doc in related} <= {"regulatory", "carrier", "reference", "internal"}
    assert {citation["docId"] for citation in answer.json["citations"]} <= {doc["docId"] for doc in related}


def test_a_decline_is_a_200_with_nothing_in_it(decline: Reply) -> None:
    body = decline.json
    assert decline.status == 200
    assert body["answer"] == DECLINE
    assert body["refused"] is True
    assert body["sources"] == body["citations"] == body["relatedDocs"] == []
    assert body["citationsMarkdown"] == ""
    assert body["confidence"] == {"level": "Low", "score": 0, "reason": "No relevant sources found", "raw": None}
    metadata = body["metadata"]
    assert metadata["chunksRetrieved"] == metadata["chunksUsed"] == 0
    assert metadata["model"] is None
    assert metadata["usage"] is None
    assert metadata["finishReason"] is None
    assert metadata["timings"]["generationMs"] == metadata["timings"]["citationMs"] == 0
    assert metadata["timings"]["retrievalMs"] > 0


def test_the_headers_forbid_sniffing_and_storing(answer: Reply, decline: Reply) -> None:
    for reply in (answer, decline):
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"


def test_every_answer_has_an_id_of_its_own(api: Api) -> None:
    ids = {api.ask(OUT_OF_SCOPE).json["responseId"] for _ in range(5)}
    assert len(ids) == 5
    assert all(len(response_id) >= 20 for response_id in ids)


def test_the_session_id_comes_back(api: Api) -> None:
    assert api.ask(OUT_OF_SCOPE, sessionId=SESSION).json["sessionId"] == SESSION


def test_white_space_around_the_question_is_removed(api: Api) -> None:
    assert api.ask(f" \n{OUT_OF_SCOPE}\t").json["metadata"]["query"] == OUT_OF_SCOPE


def same_apart_from_volatile(left: Json, right: Json) -> bool:
    """Whether two answers say the same."""

    def steady(body: Json) -> Json:
        metadata = {key: value for key, value in body["metadata"].items() if key not in {"timings", "latencyMs"}}
        return {**body, "responseId": "", "metadata": metadata}

    return steady(left) == steady(right)


@pytest.mark.parametrize(
    "extra",
    [
        {"question": 7, "debug": True, "": None, "model": "gpt-oss", "temperature": 2},
        {"sessionId": None, "topK": None, "threshold": None, "filters": None},
        {"filters": {}},
        {"topK": 10, "threshold": 0.15},
    ],
    ids=["unknown keys", "nulls", "no filters", "the profile's own values"],
)
def test_extras_that_change_nothing(api: Api, answer: Reply, extra: dict[str, Any]) -> None:
    reply = api.call(post({"query": IN_SCOPE, **extra}))
    assert reply.status == 200
    assert same_apart_from_volatile(reply.json, answer.json)


def test_a_base64_body_is_read(api: Api, answer: Reply) -> None:
    reply = api.call(post(json.dumps({"query": IN_SCOPE}).encode()))
    assert same_apart_from_volatile(reply.json, answer.json)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "application/json"},
        {"CONTENT-TYPE": "Application/JSON ; charset=utf-8"},
        {"Content-Type": "application/json;charset=UTF-8"},
        {"Content-Type": "application/vnd.api+json"},
    ],
)
def test_json_media_types_are_read_and_none_counts_as_json(api: Api, answer: Reply, headers: dict[str, str]) -> None:
    reply = api.call(post({"query": IN_SCOPE}, headers=headers))
    assert same_apart_from_volatile(reply.json, answer.json)


def test_an_event_without_any_headers_is_read(api: Api) -> None:
    event = {**post({"query": OUT_OF_SCOPE}), "headers": None, "multiValueHeaders": None}
    assert api.call(event).status == 200


@pytest.mark.parametrize("text", ["Zoll für Güter? 关税 🚢", "\u0000\u0007", "\ud800 permit", "[x]{context}<b>"])
def test_any_text_is_a_question(api: Api, text: str) -> None:
    reply = api.call(post(json.dumps({"query": text})))
    assert reply.status == 200
    assert reply.text.encode("utf-8")  # a lone surrogate could not be sent


@pytest.mark.parametrize("path", ["/api/query/", "/api/health/"])
def test_a_trailing_slash_is_the_same_path(api: Api, path: str) -> None:
    body = json.dumps({"query": OUT_OF_SCOPE}) if "query" in path else None
    assert api.call(rest_event("POST" if body else "GET", path, body)).status == 200


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
        ({"category": 7}, "filters.category has a value of the wrong type; the field holds text"),
        ({"priority": True}, "filters.priority has a value of the wrong type; the field holds whole numbers"),
        ({"sample": 1}, "filters.sample has a value of the wrong type; the field holds true or false"),
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
