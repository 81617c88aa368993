"""The table of errors with their HTTP status, sentence and stable code, which every protocol's error bodies use."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from knowledge.model.errors import (
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    IndexUnavailable,
    IndexUnreachable,
    KnowledgeError,
    SearchFailed,
)
from rag.errors import (
    BadRequest,
    EmbeddingFailed,
    EmbeddingUnavailable,
    LlmFailed,
    LlmTooSlow,
    LlmUnavailable,
    RagError,
    StoreUnavailable,
    TooManyVotes,
    UnknownChunk,
    UnknownResponse,
)
from rag.http.requests import BodyTooLarge, UnsupportedMediaType

RETRIEVAL_FAILED = "Pipeline error: Retrieval failed"
LLM_FAILED = "Pipeline error: LLM request failed"

_ERROR, _UNAVAILABLE = HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE
FAILURES: tuple[tuple[type[Exception], HTTPStatus, str], ...] = (
    (BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, ""),
    (UnsupportedMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, ""),
    (UnknownResponse, HTTPStatus.NOT_FOUND, ""),
    (UnknownChunk, HTTPStatus.NOT_FOUND, ""),
    (TooManyVotes, HTTPStatus.TOO_MANY_REQUESTS, ""),
    (BadRequest, HTTPStatus.BAD_REQUEST, ""),
    (IndexMissing, _UNAVAILABLE, ""),
    (
        IndexMismatch,
        _UNAVAILABLE,
        "The index was made for another embedding model or format. Run: ragctl ingest PATH",
    ),
    (IndexDamaged, _UNAVAILABLE, "The index is damaged. Run: ragctl ingest PATH"),
    (IndexUnreachable, _UNAVAILABLE, "The documents cannot be reached just now. Ask again in a moment"),
    (IndexUnavailable, _UNAVAILABLE, "There is no room to open the index in"),
    (EmbeddingUnavailable, _UNAVAILABLE, "Pipeline error: The embedding model cannot be reached"),
    (SearchFailed, _ERROR, RETRIEVAL_FAILED),
    (EmbeddingFailed, _ERROR, RETRIEVAL_FAILED),
    (
        LlmTooSlow,
        _UNAVAILABLE,
        f"{LLM_FAILED}: no text came in time. REQUEST_DEADLINE_S says how long it may take",
    ),
    (LlmFailed, _ERROR, LLM_FAILED),
    (LlmUnavailable, _UNAVAILABLE, LLM_FAILED),
    (StoreUnavailable, _UNAVAILABLE, "Feedback cannot be kept now"),
    (Exception, _ERROR, "Pipeline error: Unexpected failure"),
)
"""The first matching class counts. Without a sentence the error, or for IndexMissing the endpoint, has its own."""

SERVICE_PATHS = frozenset({"/v1/query", "/v1/ingest"})
"""Paths below /v1 whose errors have this service's own shape, not OpenAI's."""
_OPENAI_CODES = {"query_too_long": "context_length_exceeded"}
_QUESTION_CODES = frozenset({"empty_query", "invalid_query", "unsafe_query", *_OPENAI_CODES})
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The words of an endpoint.

    ``protocol`` is its name in metrics, ``noun`` its word for a question, ``no_index`` its sentence for a missing
    index. Errors have OpenAI's shape if ``question_param`` is set: the parameter that holds the question.
    """

    protocol: str = "api"
    noun: str = "Query"
    no_index: str = "No index is loaded. Run: ragctl ingest PATH"
    question_param: str = ""


QUERY = Endpoint()
QUESTION = Endpoint(noun="Question", no_index="Run /v1/ingest first")
CHAT = Endpoint("openai", "The last message of the user", question_param="messages")
RESPONSES = Endpoint("openai", "The last message of the user", question_param="input")
MCP, PAGE = Endpoint("mcp"), Endpoint("page")


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """An error as the caller sees it; ``body`` has the shape of the endpoint's protocol."""

    status: HTTPStatus
    sentence: str
    code: str
    body: dict[str, Any]
    headers: dict[str, str]


def explain(error: Exception, endpoint: Endpoint = QUERY) -> HttpFailure:
    """Return how a caller sees ``error``: without internal details and without a vendor's words."""
    status, sentence = next((status, sentence) for kind, status, sentence in FAILURES if isinstance(error, kind))
    if isinstance(error, BadRequest):
        sentence = error.sentence(endpoint.noun)
    elif isinstance(error, IndexMissing):
        sentence = endpoint.no_index
    code = error.code if isinstance(error, RagError | KnowledgeError) else RagError.code
    body: dict[str, Any] = {"error": sentence, "code": code}
    if endpoint.question_param:
        param = getattr(error, "param", None) or (endpoint.question_param if code in _QUESTION_CODES else None)
        body = _openai_error(sentence, code, status, param=param)
    wait = getattr(error, "retry_after", None)
    return HttpFailure(status, sentence, code, body, {"Retry-After": str(max(1, round(wait)))} if wait else {})


def error_body_at(path: str, sentence: str, code: str, status: int) -> dict[str, Any]:
    """Return an error's body in the shape of the protocol that is spoken at ``path``."""
    if path.startswith("/v1/") and path.rstrip("/") not in SERVICE_PATHS:
        return _openai_error(sentence, code, status)
    return {"error": sentence, "code": code}


def _openai_error(sentence: str, code: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": param, "code": _OPENAI_CODES.get(code, code)}}
