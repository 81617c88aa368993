"""From a request body to a Question."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from rag.errors import BadRequest, InvalidParameter, InvalidQuery
from rag.schema import QueryRequest
from rag.text.surrogates import replace_surrogates
from rag.types import Question


class InvalidJson(BadRequest):
    """The body is not a JSON object."""

    code = "invalid_json"


def parse_query(body: str | bytes | None) -> Question:
    """The question in ``body``.

    Raises:
        InvalidJson: not a JSON object in UTF-8.
        InvalidQuery: ``query`` is missing or not a string.
        InvalidParameter: another field is wrong; names it and what is accepted.
    """
    fields = _object(body)
    if not isinstance(fields.get("query"), str):
        raise InvalidQuery
    try:
        request = QueryRequest.model_validate(fields)
    except ValidationError as exc:
        name = str(exc.errors(include_url=False)[0]["loc"][0])
        accepted = QueryRequest.model_fields[name].description
        raise InvalidParameter(f"{name} must be {accepted}") from exc
    return Question(
        text=replace_surrogates(request.query),
        session_id=request.sessionId,
        top_k=request.topK,
        threshold=request.threshold,
        filters=request.filters or {},
    )


def _object(body: str | bytes | None) -> dict[str, Any]:
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
        value = json.loads(text or "", parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise InvalidJson('Request body must be a JSON object such as {"query": "..."}') from exc
    if not isinstance(value, dict):
        raise InvalidJson('Request body must be a JSON object such as {"query": "..."}')
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
