"""The table from an error to an HTTP status, a sentence and a stable code; every protocol words its errors from it."""

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
EMBEDDER_UNAVAILABLE = "Pipeline error: The embedding model cannot be reached"
LLM_FAILED = "Pipeline error: LLM request failed"
LLM_TOO_SLOW = f"{LLM_FAILED}: no text came in time. REQUEST_DEADLINE_S says how long it may take"
STORE_FAILED = "Feedback cannot be kept now"
UNEXPECTED = "Pipeline error: Unexpected failure"

STATUS: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (UnsupportedMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (UnknownResponse, HTTPStatus.NOT_FOUND),
    (UnknownChunk, HTTPStatus.NOT_FOUND),
    (TooManyVotes, HTTPStatus.TOO_MANY_REQUESTS),
    (BadRequest, HTTPStatus.BAD_REQUEST),
    (IndexUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (LlmUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The first matching class counts; every other error is a 500."""

SERVICE_PATHS = frozenset({"/v1/query", "/v1/ingest"})
"""Paths below /v1 whose errors have this service's own shape, not OpenAI's."""
_OPENAI_CODES = {"query_too_long": "context_length_exceeded"}
_QUESTION_CODES = frozenset({"empty_query", "invalid_query", "unsafe_query", *_OPENAI_CODES})
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True, slots=True)
class EndpointWording:
    """The endpoint's word for a question, and its sentence for a missing index."""

    noun: str
    no_index: str


QUERY = EndpointWording("Query", "No index is loaded. Run: ragctl ingest PATH")
CHAT = EndpointWording("The last message of the user", QUERY.no_index)
QUESTION = EndpointWording("Question", "Run /v1/ingest first")


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """An error as the caller sees it.

    ``retry_after`` is in whole seconds, None if unknown; ``param`` is the name of the wrong parameter, None if the
    error names none.
    """

    status: HTTPStatus
    sentence: str
    code: str
    retry_after: int | None = None
    param: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The header ``Retry-After``, if the time is known."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def body(self) -> dict[str, str]:
        """The body in this service's own shape, ``rag.http.schema.ErrorReply``."""
        return {"error": self.sentence, "code": self.code}

    def openai_body(self, question_param: str) -> dict[str, Any]:
        """Return the body in OpenAI's shape; ``question_param`` is the parameter that holds the question."""
        param = self.param or (question_param if self.code in _QUESTION_CODES else None)
        return openai_error(self.sentence, self.code, self.status, param=param)


def explain(error: Exception, wording: EndpointWording = QUERY) -> HttpFailure:
    """Return how a caller sees ``error``: without internal details and without a vendor's words."""
    wait = getattr(error, "retry_after", None)
    return HttpFailure(
        status=next((status for kind, status in STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR),
        sentence=_sentence(error, wording),
        code=error.code if isinstance(error, RagError | KnowledgeError) else RagError.code,
        retry_after=max(1, round(wait)) if wait else None,
        param=getattr(error, "param", None),
    )


def openai_error(sentence: str, code: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    """Return an error's body in OpenAI's shape."""
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": param, "code": _OPENAI_CODES.get(code, code)}}


def error_body_at(path: str, sentence: str, code: str, status: int) -> dict[str, Any]:
    """Return an error's body in the shape of the protocol that is spoken at ``path``."""
    if path.startswith("/v1/") and path.rstrip("/") not in SERVICE_PATHS:
        return openai_error(sentence, code, status)
    return {"error": sentence, "code": code}


def _sentence(error: Exception, wording: EndpointWording) -> str:
    match error:
        case BadRequest():
            return error.sentence(wording.noun)
        case IndexUnavailable():
            return _index_sentence(error, wording)
        case EmbeddingUnavailable():
            return EMBEDDER_UNAVAILABLE
        case SearchFailed() | EmbeddingFailed():
            return RETRIEVAL_FAILED
        case LlmTooSlow():
            return LLM_TOO_SLOW
        case LlmFailed() | LlmUnavailable():
            return LLM_FAILED
        case StoreUnavailable():
            return STORE_FAILED
        case _:
            return UNEXPECTED


def _index_sentence(error: IndexUnavailable, wording: EndpointWording) -> str:
    match error:
        case IndexMissing():
            return wording.no_index
        case IndexMismatch():
            return "The index was made for another embedding model or format. Run: ragctl ingest PATH"
        case IndexDamaged():
            return "The index is damaged. Run: ragctl ingest PATH"
        case IndexUnreachable():
            return "The documents cannot be reached just now. Ask again in a moment"
        case _:
            return "There is no room to open the index in"
