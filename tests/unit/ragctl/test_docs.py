"""ragctl.docs: the OpenAPI document that is made from the schema."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from ragctl.openapi import openapi

BODY = {"413": "body_too_large", "415": "unsupported_media_type"}
QUERY = "invalid_json invalid_query empty_query query_too_long unsafe_query invalid_parameter"
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
    ("post", "/v1/chat/completions"): {**BODY, "400": QUERY, "503": f"llm_unavailable embedder_unavailable {NO_INDEX}"},
    ("get", "/v1/models"): {},
    ("get", "/v1/models/{model}"): {"404": "model_not_found"},
    ("post", "/mcp"): {"400": "", "404": "", "406": "not_acceptable", **BODY},
    ("get", "/"): {"404": "not_found"},
    ("get", "/docs"): {"404": "not_found"},
    ("get", "/openapi.json"): {"404": "not_found"},
}
FILES = {("get", "/"), ("get", "/docs"), ("get", "/openapi.json")}
OPENAI_SHAPE = {"/v1/chat/completions", "/v1/models/{model}"}
ERROR_REPLY = {"$ref": "#/components/schemas/ErrorReply"}
ANY = {"401": "unauthorized", "403": "forbidden", "429": "too_many_requests", "500": "pipeline_error"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(openapi())
    return made


def test_it_is_valid_openapi(document: dict[str, Any]) -> None:
    validate(document)


def test_it_has_every_route_of_the_contract_with_the_codes_of_its_errors(document: dict[str, Any]) -> None:
    routes = {(method, path): route for path, methods in document["paths"].items() for method, route in methods.items()}
    assert routes.keys() == CONTRACT.keys()
    for route, codes in CONTRACT.items():
        errors = {status: reply for status, reply in routes[route]["responses"].items() if int(status) >= 400}
        expected = codes if route in FILES else {**ANY, **codes}
        assert errors.keys() == expected.keys(), route
        for status, names in expected.items():
            assert set(names.split()) <= set(re.findall(r"\w+", errors[status]["description"])), (route, status)
            body = errors[status]["content"]["application/json"]
            assert ("type" in body["example"]["error"]) if route[1] in OPENAI_SHAPE else body["schema"] == ERROR_REPLY
