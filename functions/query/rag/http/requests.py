"""From a request body to a Question."""

from __future__ import annotations

import json

from pydantic import ValidationError

from rag.errors import BadRequest, InvalidParameter, InvalidQuery
from rag.http.schema import FeedbackRequest, Options, QueryRequest, QuestionRequest, Request
from rag.text.surrogates import replace_surrogates
from rag.values.question import Question

MAX_CHUNK_QUESTION_CHARS = 2000
"""The longest part of a question that a chunk is looked at for."""


class InvalidJson(BadRequest):
    """The body is not a JSON object."""

    code = "invalid_json"


class BodyTooLarge(BadRequest):
    """The request body has more bytes than are accepted."""

    code = "body_too_large"


class UnsupportedMediaType(BadRequest):
    """The request body is said to be something else than JSON."""

    code = "unsupported_media_type"


def parse_query(body: str | bytes | None) -> Question:
    """The question in the body of ``POST /api/query``; errors as ``parse_shown_query``."""
    return parse_shown_query(body)[0]


def parse_shown_query(body: str | bytes | None) -> tuple[Question, bool]:
    """The question in the body of ``POST /api/query``, and whether the answer is wanted as a tree of nodes too.

    Raises:
        InvalidJson: not a JSON object in UTF-8.
        InvalidQuery: ``query`` is missing or not a string.
        InvalidParameter: another field is wrong; names it and what is accepted.
    """
    request = _parse(QueryRequest, body)
    return _question(request.query, request), request.rendered is True


def parse_question(body: str | bytes | None) -> tuple[Question, bool]:
    """The question in the body of ``POST /v1/query``, and whether debugging metadata is wanted.

    Raises:
        InvalidJson, InvalidQuery, InvalidParameter: as ``parse_query``, of the field ``question``.
    """
    request = _parse(QuestionRequest, body)
    return _question(request.question, request), request.debug is True


def parse_chunk_question(text: str | None) -> str | None:
    """The question that a chunk is looked at for; None where none was asked.

    Raises:
        InvalidParameter: it is too long.
    """
    if text is not None and len(text) > MAX_CHUNK_QUESTION_CHARS:
        raise InvalidParameter(f"question must be text of at most {MAX_CHUNK_QUESTION_CHARS} characters")
    return replace_surrogates(text) if text and text.strip() else None


def parse_chunk_rendered(text: str | None) -> bool:
    """Whether a chunk's Markdown is wanted as nodes.

    Raises:
        InvalidParameter: it is neither true nor false.
    """
    if text not in {None, "true", "false"}:
        raise InvalidParameter("rendered must be true or false")
    return text == "true"


def parse_session(text: str) -> str:
    """The id of a session.

    Raises:
        InvalidParameter: no session can have this one.
    """
    _parse(QueryRequest, json.dumps({"query": "", "sessionId": text}))
    return text


def parse_feedback(body: str | bytes | None) -> FeedbackRequest:
    """The vote in the body of ``POST /api/feedback``.

    Raises:
        InvalidJson: not a JSON object in UTF-8.
        InvalidParameter: a field is missing or wrong; names it and what is accepted.
    """
    return _parse(FeedbackRequest, body)


def _parse[M: Request](model: type[M], body: str | bytes | None) -> M:
    fields = model.model_fields
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        return model.model_validate(json.loads(text or "", parse_constant=_no_constant))
    except (ValueError, RecursionError) as exc:
        errors = exc.errors(include_url=False) if isinstance(exc, ValidationError) else []
        wrong = [str(error["loc"][0]) for error in errors if error["loc"]]  # nowhere: it is no object
        if not wrong:
            needed = next(field.alias for field in fields.values() if field.is_required())
            raise InvalidJson(f'Request body must be a JSON object such as {{"{needed}": "..."}}') from exc
        if not {"query", "question"}.isdisjoint(wrong):
            raise InvalidQuery from exc
        field = fields[wrong[0]]
        raise InvalidParameter(f"{field.alias} must be {field.description}") from exc


def _question(text: str, options: Options) -> Question:
    return Question(
        text=text,
        session_id=options.session_id,
        top_k=options.top_k,
        threshold=options.threshold,
        filters=options.filters or {},
    )


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
