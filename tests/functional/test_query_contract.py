"""POST /api/query: the shape of answers, declines and errors, and what a request may leave out."""

import json
import re

import jsonschema  # type: ignore[import-untyped]
import pytest
from fakes_llm import reply
from functional.golden import check_golden, differences
from functional.harness import (
    DECLINE,
    IN_SCOPE,
    OUT_OF_SCOPE,
    REPOSITORY,
    Api,
    Event,
    Json,
    Reply,
    Start,
    post,
    rest_event,
)

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
    assert (answer.status, set(body), set(body["metadata"])) == (200, ANSWER_KEYS, METADATA_KEYS)
    assert set(body["confidence"]) == {"level", "score", "reason", "raw"}
    assert [] not in (body["citations"], body["sources"], body["relatedDocs"])
    assert all(set(citation) == CITATION_KEYS for citation in body["citations"])
    assert all(set(reference) == REFERENCE_KEYS for reference in body["references"])
    assert [reference["n"] for reference in body["references"]] == list(range(1, len(body["references"]) + 1))
    assert all(set(source) == {"title", "org", "url", "section", "references"} for source in body["sources"])
    assert all(set(doc) == {"title", "category", "docId", "url"} for doc in body["relatedDocs"])
    assert {"retrievalMs", "generationMs", "citationMs", "totalMs"} <= set(body["metadata"]["timings"])


@pytest.mark.parametrize("name", ["answer", "decline"])
def test_replies_fit_the_schema_in_the_code_and_the_published_one(name: str, request: pytest.FixtureRequest) -> None:
    body = request.getfixturevalue(name).json
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


def test_what_an_answer_names_is_there_each_thing_once(answer: Reply) -> None:
    body, metadata = answer.json, answer.json["metadata"]
    for citation in body["citations"]:
        assert body["answer"][citation["position"] :].startswith(citation["raw"])
        assert all(url.startswith("http") for url in citation["sourceUrls"])
    assert "SG-REG-001" in {citation["docId"] for citation in body["citations"]}
    assert len({citation["title"].casefold() for citation in body["citations"]}) == len(body["citations"])
    urls = [source["url"] for source in body["sources"]]
    assert len(urls) == len(set(urls))
    assert set(urls) == {url for citation in body["citations"] for url in citation["sourceUrls"]}
    related = {doc["docId"]: doc["category"] for doc in body["relatedDocs"]}
    assert len(related) == len(body["relatedDocs"])
    assert set(related.values()) <= {"regulatory", "carrier", "reference", "internal"}
    assert {citation["docId"] for citation in body["citations"]} <= set(related)
    assert metadata["chunksUsed"] == len(body["citations"]) <= metadata["chunksRetrieved"] <= 10
    timings = metadata["timings"]
    assert metadata["latencyMs"] == timings["totalMs"] >= timings["retrievalMs"] + timings["generationMs"]


def test_a_decline_is_a_200_with_nothing_in_it(decline: Reply) -> None:
    body = decline.json
    assert (decline.status, body["answer"], body["refused"]) == (200, DECLINE, True)
    assert body["sources"] == body["citations"] == body["references"] == body["relatedDocs"] == []
    assert (body["citationsMarkdown"], body["partial"]) == ("", False)
    assert body["confidence"] == {"level": "Low", "score": 0, "reason": "No relevant sources found", "raw": None}
    metadata, timings = body["metadata"], body["metadata"]["timings"]
    assert metadata["chunksRetrieved"] == metadata["chunksUsed"] == 0
    assert metadata["model"] is metadata["usage"] is metadata["finishReason"] is None
    assert (timings["generationMs"], timings["citationMs"], timings["retrievalMs"] > 0) == (0, 0, True)


def test_the_headers_forbid_sniffing_and_storing(answer: Reply, decline: Reply) -> None:
    for told in (answer, decline):
        assert told.headers["content-type"] == "application/json"
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["cache-control"] == "no-store"


def test_every_answer_has_an_id_of_its_own(api: Api) -> None:
    ids = {api.ask(OUT_OF_SCOPE).json["responseId"] for _ in range(5)}
    assert len(ids) == 5
    assert all(len(response_id) >= 20 for response_id in ids)


def test_the_session_id_comes_back_and_the_question_without_white_space_around_it(api: Api) -> None:
    body = api.ask(f" \n{OUT_OF_SCOPE}\t", sessionId=SESSION).json
    assert (body["sessionId"], body["metadata"]["query"]) == (SESSION, OUT_OF_SCOPE)


def steady(body: Json) -> Json:
    """What an answer says, without what differs from one to the next."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in {"timings", "latencyMs"}}
    return {**body, "responseId": "", "metadata": metadata}


QUERY = {"query": IN_SCOPE}
SAME_QUESTION: dict[str, Event] = {
    "unknown keys": post({**QUERY, "question": 7, "debug": True, "": None, "model": "gpt-oss", "temperature": 2}),
    "nulls": post({**QUERY, "sessionId": None, "topK": None, "threshold": None, "filters": None}),
    "the profile's own values": post({**QUERY, "filters": {}, "topK": 10, "threshold": 0.15}),
    "base64": post(json.dumps(QUERY).encode()),
    "no media type": post(QUERY, headers={}),
    "no headers": {**post(QUERY), "headers": None, "multiValueHeaders": None},
    "a media type in capitals": post(QUERY, headers={"CONTENT-TYPE": "Application/JSON ; charset=utf-8"}),
    "a media type of JSON": post(QUERY, headers={"content-type": "application/vnd.api+json"}),
}


@pytest.mark.parametrize("event", SAME_QUESTION.values(), ids=SAME_QUESTION)
def test_what_does_not_change_an_answer(api: Api, answer: Reply, event: Event) -> None:
    told = api.call(event)
    assert (told.status, steady(told.json)) == (200, steady(answer.json))


def test_a_trailing_slash_is_the_same_path(api: Api) -> None:
    assert (api.send("/api/query/", query=OUT_OF_SCOPE).status, api.get("/api/health/").status) == (200, 200)


BAD_JSON = {"error": 'Request body must be a JSON object such as {"query": "..."}', "code": "invalid_json"}
TOO_LONG = {"error": "Query exceeds maximum length of 1000 characters", "code": "query_too_long"}
TOO_LARGE = {"error": "Request body exceeds 64 KiB", "code": "body_too_large"}
NOT_JSON = {"error": "Content-Type must be application/json", "code": "unsupported_media_type"}
NOT_UTF_8 = "Request body must be JSON in UTF-8"
BODY_LIMIT = 64 * 1024


def refused(told: Reply, status: int, body: Json) -> None:
    """Assert an error exactly: status, body, and headers."""
    assert (told.status, told.json) == (status, body)
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
    assert told.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "body", [None, "{", '"query"', '{"query": NaN}', "[" * 30_000], ids=lambda body: repr(body)[:24]
)
def test_a_body_that_is_no_json_object(api: Api, body: str | None) -> None:
    refused(api.call(rest_event("POST", "/api/query", body, headers={})), 400, BAD_JSON)


def test_bytes_that_are_not_utf_8_and_base64_that_is_none(api: Api) -> None:
    for event in (post(b'{"query": "caf\xe9"}'), {**post("not base64"), "body": "x", "isBase64Encoded": True}):
        refused(api.call(event), 400, {"error": NOT_UTF_8, "code": "invalid_json"})


def test_a_query_is_not_empty_and_a_thousand_characters_are_its_limit(api: Api) -> None:
    refused(api.ask("\u00a0\u2003"), 400, {"error": "Query cannot be empty", "code": "empty_query"})
    assert api.ask(f"  {'🚢' * 1000}\n").status == 200
    refused(api.ask("🚢" * 1001), 400, TOO_LONG)


SHAPE_RULE = (
    "filters must be an object that maps up to 20 metadata fields to a scalar, a list of scalars, "
    'or one of {"$gte"|"$lte"|"$gt"|"$lt"|"$ne": scalar}'
)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"topK": 51}, "topK must be a whole number from 1 to 50"),
        ({"filters": []}, SHAPE_RULE),
        ({"filters": {"sample": 1}}, "filters.sample has a value of the wrong type; the field holds true or false"),
    ],
    ids=["top_k", "a shape", "a type"],
)
def test_a_wrong_parameter(api: Api, fields: Json, sentence: str) -> None:
    refused(api.ask(OUT_OF_SCOPE, **fields), 400, {"error": sentence, "code": "invalid_parameter"})


def test_an_unknown_field_is_named_beside_those_that_exist(api: Api) -> None:
    told = api.ask(OUT_OF_SCOPE, filters={"Category": "x"})
    assert (told.status, told.json["code"]) == (400, "invalid_parameter")
    assert told.json["error"].startswith("filters: unknown field 'Category'; this index knows: ")
    known = told.json["error"].partition("knows: ")[2].split(", ")
    assert {"category", "doc_id", "jurisdiction", "last_updated", "priority", "sample", "title"} <= set(known)


def test_errors_repeat_nothing_of_a_wrong_value_and_can_be_sent(api: Api) -> None:
    bodies: list[Json] = [
        {"query": OUT_OF_SCOPE, "topK": "<script>"},
        {"query": OUT_OF_SCOPE, "sessionId": "<script>"},
        {"query": OUT_OF_SCOPE, "filters": {"category": {"<script>": 1}}},
        {"query": ["<script>"]},
    ]
    for body in bodies:
        assert "<script>" not in api.call(post(body)).text
    lone = api.ask(OUT_OF_SCOPE, filters={"\ud800": "x"})
    assert (lone.status, lone.json["code"], bool(lone.text.encode("utf-8"))) == (400, "invalid_parameter", True)


def sized(length: int) -> str:
    """A valid body of ``length`` bytes."""
    frame = json.dumps({"query": OUT_OF_SCOPE, "padding": ""})
    return frame[:-2] + "x" * (length - len(frame)) + frame[-2:]


def test_64_kib_are_the_limit_of_a_body(api: Api) -> None:
    assert api.call(post(sized(BODY_LIMIT))).status == 200
    assert api.call(post(sized(BODY_LIMIT).encode())).status == 200
    refused(api.call(post(sized(BODY_LIMIT + 1))), 413, TOO_LARGE)
    refused(api.call(post(sized(BODY_LIMIT + 1).encode())), 413, TOO_LARGE)
    # It counts bytes, whatever they mean.
    refused(api.call(post(b"\xff" * (BODY_LIMIT + 1))), 413, TOO_LARGE)
    refused(api.call(post(b"\xff" * BODY_LIMIT)), 400, {"error": NOT_UTF_8, "code": "invalid_json"})
    refused(api.call(post(json.dumps({"query": "é" * (BODY_LIMIT // 2)}, ensure_ascii=False))), 413, TOO_LARGE)


@pytest.mark.parametrize("kind", ["text/plain", "text/json", "multipart/form-data; boundary=x"])
def test_media_types_that_are_not_json(api: Api, kind: str) -> None:
    refused(api.call(post({"query": OUT_OF_SCOPE}, headers={"Content-Type": kind})), 415, NOT_JSON)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/web/../app.py"), ("GET", "/docs/no-such-page"), ("POST", "/api/queries"), ("GET", "/API/health")],
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
    told = api.call(rest_event(method, path, "{}"))
    refused(told, 405, {"error": f"Method not allowed; use {allowed}", "code": "method_not_allowed"})
    assert told.headers["allow"] == allowed


WRITTEN = (
    "You need three papers: the commercial invoice, the packing list and the bill of lading or air waybill "
    "[Singapore Import Permits and TradeNet > Documents needed for import customs clearance]. The harbour orchestra "
    "plays for nine purple whales \u3010Importing Food into Singapore > Fruit, vegetables and plant products\u3011 "
    "[Certificates of Origin and Fre Trade Agreements]. See also [Another Handbook]."
)
# The requests' bounds lie where no score is near, so that drift does not move a chunk across.
CREDIT_QUESTION = "how many days do we have to pay your invoices?"


def test_an_answer_of_an_llm(with_llm: Start) -> None:
    api = with_llm(reply(WRITTEN, model="llama-3.1-8b-instant"))
    check_golden("answer_llm", api.ask(IN_SCOPE, threshold=0, sessionId="golden-session-0000000").json)


def test_answers_of_the_extractive_engine_a_decline_and_health(api: Api) -> None:
    check_golden("answer_extractive", api.ask(CREDIT_QUESTION, threshold=0.25).json)
    filters = {"jurisdiction": ["SG"], "priority": {"$gte": 8}}
    check_golden("answer_filtered", api.ask(IN_SCOPE, topK=5, threshold=0.1, filters=filters).json)
    check_golden("decline", api.ask(OUT_OF_SCOPE).json)
    check_golden("health", api.health().json)


@pytest.mark.parametrize(
    ("actual", "expected", "found"),
    [
        ({"score": 0.51}, {"score": 0.5}, []),
        ({"score": 0.55}, {"score": 0.5}, ["$.score is 0.55, was 0.5"]),
        ({"chunks": 9}, {"chunks": 10}, ["$.chunks is 9, was 10"]),
        ({"reason": "avg 28%"}, {"reason": "avg 38%"}, ["$.reason is 'avg 28%', was 'avg 38%'"]),
        ({"trail": ["evidence -6.03, -0.59 needed"]}, {"trail": ["evidence -5.95, -0.58 needed"]}, []),
        ({"trail": ["cosine 0.29"]}, {"trail": ["cosine 0.09"]}, ["$.trail[0] is 'cosine 0.29', was 'cosine 0.09'"]),
        ({"answer": "7% GST"}, {"answer": "8% GST"}, ["$.answer is '7% GST', was '8% GST'"]),
        ({"a": 1}, {"b": 1}, ["$.a is new", "$.b is missing"]),
        ([1], [1, 2], ["$ is [1], was [1, 2]"]),
        ([True], [1], ["$[0] is True, was 1"]),
    ],
)
def test_the_comparison_itself(actual: object, expected: object, found: list[str]) -> None:
    assert list(differences(actual, expected)) == found
