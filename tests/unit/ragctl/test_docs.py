"""ragctl.docs: the OpenAPI document that is made from the schema."""

import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from openapi_spec_validator import validate

from knowledge.model.errors import IndexMissing
from rag import errors
from rag.http.chat_completions import model_body
from rag.http.failures import explain
from ragctl.openapi import openapi, skeleton

BODY = {"413": "body_too_large", "415": "unsupported_media_type"}
QUERY = "invalid_json invalid_query empty_query query_too_long unsafe_query invalid_parameter"
CHAT = f"{QUERY.replace('query_too_long', 'context_length_exceeded')} unsupported_parameter"
NO_INDEX = "index_not_ready index_mismatch"

# CONTRACTS.md, by hand: the routes, and the codes of their errors by status.
CONTRACT = {
    ("post", "/api/query"): {**BODY, "400": QUERY, "503": f"llm_unavailable embedder_unavailable {NO_INDEX}"},
    ("post", "/v1/query"): {**BODY, "400": QUERY, "503": f"llm_unavailable embedder_unavailable {NO_INDEX}"},
    ("post", "/api/feedback"): {
        **BODY,
        "400": "invalid_json invalid_parameter",
        "404": "unknown_response",
        "429": "too_many_votes too_many_requests",
        "503": "store_unavailable",
    },
    ("get", "/api/chunks/{chunk_id}"): {"400": "invalid_parameter", "404": "unknown_chunk", "503": NO_INDEX},
    ("get", "/api/suggestions"): {"503": NO_INDEX},
    ("get", "/api/health"): {"503": NO_INDEX},
    ("post", "/v1/chat/completions"): {**BODY, "400": CHAT, "503": f"llm_unavailable embedder_unavailable {NO_INDEX}"},
    ("post", "/v1/responses"): {**BODY, "400": CHAT, "503": f"llm_unavailable embedder_unavailable {NO_INDEX}"},
    ("get", "/v1/models"): {},
    ("get", "/v1/models/{model}"): {},
    ("post", "/mcp"): {"400": "", "404": "", "406": "not_acceptable", **BODY},
    ("get", "/"): {"404": "not_found"},
    ("get", "/docs"): {"404": "not_found"},
    ("get", "/openapi.json"): {"404": "not_found"},
}
FILES = {("get", "/"), ("get", "/docs"), ("get", "/openapi.json")}
OPENAI_SHAPE = {"/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/models/{model}"}
ERROR_REPLY = {"$ref": "#/components/schemas/ErrorReply"}
OPENAI_ERROR = {"$ref": "#/components/schemas/OpenAiError"}
ANY = {"401": "unauthorized", "403": "forbidden", "429": "too_many_requests", "500": "pipeline_error"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(openapi())
    return made


def test_it_is_valid_and_has_every_route_of_the_contract_with_the_codes_of_its_errors(document: dict[str, Any]) -> None:
    validate(document)
    routes = {(method, path): route for path, methods in document["paths"].items() for method, route in methods.items()}
    assert routes.keys() == CONTRACT.keys()
    for route, codes in CONTRACT.items():
        errors = {status: reply for status, reply in routes[route]["responses"].items() if int(status) >= 400}
        expected = codes if route in FILES else {**ANY, **codes}
        assert errors.keys() == expected.keys(), route
        for status, names in expected.items():
            assert set(names.split()) <= set(re.findall(r"\w+", errors[status]["description"])), (route, status)
            body = errors[status]["content"]["application/json"]
            assert body["schema"] == (OPENAI_ERROR if route[1] in OPENAI_SHAPE else ERROR_REPLY)
            if route not in FILES:
                assert set(names.split()) <= body.get("examples", {}).keys()


def test_every_property_says_what_it_is(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    fields = {
        f"{name}.{field}": told for name, one in schemas.items() for field, told in one.get("properties", {}).items()
    }
    assert [name for name, told in fields.items() if not told.get("description")] == []
    assert [name for name, one in schemas.items() if not one.get("description")] == []
    described = {f"{name}.{field}" for name, own in skeleton()["descriptions"].items() if name != "*" for field in own}
    assert described <= fields.keys()
    assert skeleton()["descriptions"]["*"].keys() <= {name.partition(".")[2] for name in fields}


def test_what_may_be_left_out_of_a_request_is_not_required_and_a_reply_has_all(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["QueryRequest"]["required"] == ["query"]
    assert schemas["ChatRequest"]["required"] == ["messages"]
    assert schemas["ResponseRequest"]["required"] == ["input"]
    for name in ("QueryRequest", "ChatRequest", "ResponseRequest"):
        assert [field for field, told in schemas[name]["properties"].items() if "default" in told] == []
    for name in ("QueryReply", "CitationReply", "SourceReply", "HealthReply"):
        assert set(schemas[name]["required"]) == schemas[name]["properties"].keys()


def test_the_examples_are_what_the_schemas_say(document: dict[str, Any]) -> None:
    checked = 0
    for methods in document["paths"].values():
        for one in methods.values():
            for content in (one.get("requestBody", {}), *one["responses"].values()):
                body = content.get("content", {}).get("application/json", {})
                shown = [example["value"] for example in body.get("examples", {}).values()]
                for example in [*shown, *([body["example"]] if "example" in body else [])]:
                    jsonschema.validate(example, {**body["schema"], "components": document["components"]})
                    checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    "error",
    [
        *(errors.EmptyQuery(), errors.InvalidQuery(), errors.QueryTooLong(1000), errors.UnsupportedParameter("n")),
        *(errors.UnknownChunk(), errors.UnknownResponse(), errors.TooManyVotes(60, retry_after=60)),
        *(errors.EmbeddingUnavailable(""), errors.LlmUnavailable(""), errors.StoreUnavailable(), IndexMissing("")),
        errors.RagError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_sentence_of_a_code_is_the_programs(document: dict[str, Any], error: Exception) -> None:
    sentences = {row["code"]: row["error"] for row in document["x-error-codes"]}
    failure = explain(error)
    assert failure.sentence.partition(";")[0] == sentences[failure.code].partition(";")[0]


def test_the_models_are_the_programs(document: dict[str, Any]) -> None:
    [models] = (document["paths"]["/v1/models"]["get"]["responses"]["200"]["content"]).values()
    assert models["example"]["data"] == [model_body("waypoint"), model_body("waypoint-sources")]
