"""Errors and models in OpenAI's shape."""

from __future__ import annotations

from typing import Any

SERVICE_PATHS = frozenset({"/v1/query", "/v1/ingest"})
"""Below /v1, but in this service's own words."""
_CODES = {"query_too_long": "context_length_exceeded"}
_QUESTION_CODES = frozenset({"empty_query", "invalid_query", "unsafe_query", *_CODES})
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def speaks_openai(path: str) -> bool:
    """Whether errors at ``path`` have OpenAI's shape."""
    return path.startswith("/v1/") and path.rstrip("/") not in SERVICE_PATHS


def error_body(sentence: str, code: str, status: int, *, param: str | None = None, asked: str = "") -> dict[str, Any]:
    """An error; ``asked`` is the parameter that holds the question, named where that is what is wrong."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    if param is None and code in _QUESTION_CODES:
        param = asked or None
    return {"error": {"message": sentence, "type": kind, "param": param, "code": _CODES.get(code, code)}}


def refusal_at(path: str, sentence: str, code: str, status: int) -> dict[str, Any]:
    """The body of a refusal in the words of the protocol that is spoken at ``path``."""
    return error_body(sentence, code, status) if speaks_openai(path) else {"error": sentence, "code": code}


def model_body(name: str) -> dict[str, Any]:
    """A model as GET /v1/models lists it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "serverless-rag"}
