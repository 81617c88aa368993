"""The one table from an error to a status, a sentence and a code; every protocol words its errors from it."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from knowledge.model.errors import IndexUnavailable
from rag.errors import BadRequest, LlmUnavailable, StoreUnavailable, TooManyVotes, UnknownChunk, UnknownResponse
from rag.http.replies import QUERY, Wording, error_reply
from rag.http.requests import BodyTooLarge, UnsupportedMediaType

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
    (Exception, HTTPStatus.INTERNAL_SERVER_ERROR),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a caller is told of an error.

    ``retry_after`` is in whole seconds, None where nobody knows; ``param`` is the parameter that is wrong, None where
    that is not said.
    """

    status: HTTPStatus
    sentence: str
    code: str
    retry_after: int | None = None
    param: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """``Retry-After``, where it is known."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def body(self) -> dict[str, str]:
        """The body of this service's own routes."""
        return {"error": self.sentence, "code": self.code}


def explain(error: Exception, wording: Wording = QUERY) -> Failure:
    """What to tell of ``error``: nothing internal, no vendor's words."""
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    body = error_reply(error, wording)
    wait = getattr(error, "retry_after", None)
    return Failure(
        status, body["error"], body["code"], max(1, round(wait)) if wait else None, getattr(error, "param", None)
    )
