"""From a request body to a Question."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ValidationError

from rag.errors import BadRequest, InvalidParameter, InvalidQuery
from rag.http.schema import FeedbackRequest, Options, QueryRequest, QuestionRequest
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Question


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
    """The question in the body of ``POST /api/query``.

    Raises:
        InvalidJson: not a JSON object in UTF-8.
        InvalidQuery: ``query`` is missing or not a string.
        InvalidParameter: another field is wrong; names it and what is accepted.
    """
    request = _parse(QueryRequest, "query", body)
    return _question(request.query, request)


def parse_question(body: str | bytes | None) -> tuple[Question, bool]:
    """The question in the body of ``POST /v1/query``, and whether debugging metadata is wanted.

    Raises:
        InvalidJson, InvalidQuery, InvalidParameter: as ``parse_query``, of the field ``question``.
    """
    request = _parse(QuestionRequest, "question", body)
    return _question(request.question, request), request.debug is True


def parse_feedback(body: str | bytes | None) -> FeedbackRequest:
    """The vote in the body of ``POST /api/feedback``.

    Raises:
        InvalidJson: not a JSON object in UTF-8.
        InvalidParameter: a field is missing or wrong; names it and what is accepted.
    """
    fields = _object(body, "responseId")
    if isinstance(comment := fields.get("comment"), str):
        # Before it is measured: pydantic takes no text with lone surrogates where its length is limited.
        fields["comment"] = replace_surrogates(comment)
    return _validated(FeedbackRequest, fields)


def _parse[R: Options](model: type[R], text_field: str, body: str | bytes | None) -> R:
    fields = _object(body, text_field)
    if not isinstance(fields.get(text_field), str):
        raise InvalidQuery
    return _validated(model, fields)


def _validated[M: BaseModel](model: type[M], fields: dict[str, Any]) -> M:
    try:
        return model.model_validate(fields)
    except ValidationError as exc:
        name = str(exc.errors(include_url=False)[0]["loc"][0])
        accepted = model.model_fields[name].description
        raise InvalidParameter(f"{name} must be {accepted}") from exc


def _question(text: str, options: Options) -> Question:
    return Question(
        text=replace_surrogates(text),
        session_id=options.sessionId,
        top_k=options.topK,
        threshold=options.threshold,
        filters=options.filters or {},
    )


def _object(body: str | bytes | None, text_field: str) -> dict[str, Any]:
    sentence = f'Request body must be a JSON object such as {{"{text_field}": "..."}}'
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        value = json.loads(text or "", parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise InvalidJson(sentence) from exc
    if not isinstance(value, dict):
        raise InvalidJson(sentence)
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
