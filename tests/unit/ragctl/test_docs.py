"""ragctl.docs: the OpenAPI document that is made from the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openapi_spec_validator import validate

from ragctl.docs import openapi

BODY = {"400": "invalid_json", "413": "body_too_large", "415": "unsupported_media_type", "500": "pipeline_error"}
QUERY = "invalid_json invalid_query empty_query query_too_long unsafe_query invalid_parameter"
NO_INDEX = "index_not_ready index_mismatch"

# CONTRACTS.md, by hand: the routes, and the codes of their errors by status.
CONTRACT = {
    ("post", "/api/query"): {**BODY, "400": QUERY, "503": f"llm_unavailable {NO_INDEX}"},
    ("post", "/v1/query"): {**BODY, "400": QUERY, "503": f"llm_unavailable {NO_INDEX}"},
    ("post", "/api/feedback"): {
        **BODY,
        "400": "invalid_json invalid_parameter",
        "404": "unknown_response",
        "503": "store_unavailable",
    },
    ("get", "/api/health"): {"503": NO_INDEX},
}


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
        assert errors.keys() == codes.keys(), route
        for status, names in codes.items():
            assert set(names.split()) <= set(errors[status]["description"].replace(",", " ").split()), (route, status)
            assert errors[status]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorReply")
