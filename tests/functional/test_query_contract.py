"""POST /api/query when all goes well: the shape of an answer and of a decline, and what a request may leave out."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from functional.harness import DECLINE, IN_SCOPE, OUT_OF_SCOPE, REPOSITORY, Api, Json, Reply, post, rest_event

from rag.http.health_schema import HealthReply
from rag.http.schema import ErrorReply, QueryReply

SESSION = "abcdefghijklmnopqrstuv"
OPENAPI = json.loads((REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8"))

# CONTRACTS.md, by hand: the schema in the code must not be the only witness.
ANSWER_KEYS = {
    "answer", "sources", "relatedDocs", "citations", "references", "citationsMarkdown", "confidence", "refused",
    "partial", "routing", "responseId", "sessionId", "metadata",
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
