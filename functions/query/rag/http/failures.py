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
NO_INDEX = "{no_index}"
"""Stands for the endpoint's own sentence."""

_ERROR, _UNAVAILABLE = HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE
FAILURES: tuple[tuple[type[Exception], HTTPStatus, str], ...] = (
    (BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, ""),
    (UnsupportedMediaType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, ""),
    (UnknownResponse, HTTPStatus.NOT_FOUND, ""),
    (UnknownChunk, HTTPStatus.NOT_FOUND, ""),
    (TooManyVotes, HTTPStatus.TOO_MANY_REQUESTS, ""),
    (BadRequest, HTTPStatus.BAD_REQUEST, ""),
    (IndexMissing, _UNAVAILABLE, NO_INDEX),
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
"""The first matching class counts. Without a sentence the error has its own, written for the caller."""

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
        return _openai_error(self.sentence, self.code, self.status, param=param)


def explain(error: Exception, wording: EndpointWording = QUERY) -> HttpFailure:
    """Return how a caller sees ``error``: without internal details and without a vendor's words."""
    status, sentence = next((status, sentence) for kind, status, sentence in FAILURES if isinstance(error, kind))
    if isinstance(error, BadRequest):
        sentence = error.sentence(wording.noun)
    wait = getattr(error, "retry_after", None)
    return HttpFailure(
        status=status,
        sentence=wording.no_index if sentence == NO_INDEX else sentence,
        code=error.code if isinstance(error, RagError | KnowledgeError) else RagError.code,
        retry_after=max(1, round(wait)) if wait else None,
        param=getattr(error, "param", None),
    )


def error_body_at(path: str, sentence: str, code: str, status: int) -> dict[str, Any]:
    """Return an error's body in the shape of the protocol that is spoken at ``path``."""
    if path.startswith("/v1/") and path.rstrip("/") not in SERVICE_PATHS:
        return _openai_error(sentence, code, status)
    return {"error": sentence, "code": code}


def _openai_error(sentence: str, code: str, status: int, *, param: str | None = None) -> dict[str, Any]:
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": param, "code": _OPENAI_CODES.get(code, code)}}
