"""Requests read from JSON bodies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from rag.errors import BadRequest, InvalidParameter, InvalidQuery, UnsupportedParameter
from rag.http.schema import QueryRequest, QuestionRequest
from rag.values.question import Question

type RefusedParameters = Mapping[str, Callable[[Any], bool]]
"""For each parameter, whether a value of it would change the form of the result."""
NONE_REFUSED: RefusedParameters = MappingProxyType({})

OTHER_SITE = "Requests from the pages of other sites are not answered"


class InvalidJson(BadRequest):
    """The body is not a JSON object."""

    code = "invalid_json"


class BodyTooLarge(BadRequest):
    """The request body has more bytes than are accepted."""

    code = "body_too_large"


class UnsupportedMediaType(BadRequest):
    """The header Content-Type names another format than JSON."""

    code = "unsupported_media_type"


def read_question(request: QueryRequest | QuestionRequest) -> Question:
    """Return the question of a request, with its options."""
    return Question(
        text=request.query if isinstance(request, QueryRequest) else request.question,
        session_id=request.session_id,
        top_k=request.top_k,
        threshold=request.threshold,
        filters=request.filters or {},
    )


def parse_session(text: str) -> str:
    """Return ``text`` if it can be the id of a session.

    Raises:
        InvalidParameter: it cannot.
    """
    parse_request(QueryRequest, json.dumps({"query": "", "sessionId": text}))
    return text


def parse_request[M: BaseModel](
    model: type[M], body: str, *, refused: RefusedParameters = NONE_REFUSED, example: str = '"..."'
) -> M:
    """Return the request in ``body``.

    With ``refused``, NaN is accepted in the ignored fields. ``example`` is a value of the first required field.

    Raises:
        InvalidJson: not a JSON object.
        InvalidQuery: ``query`` or ``question`` is missing or not a string.
        UnsupportedParameter: a parameter has a value that is ``refused``.
        InvalidParameter: another field is wrong; the message names it and the accepted values.
    """
    fields = model.model_fields
    try:
        values = json.loads(body, parse_constant=None if refused else _reject_constant)
        if isinstance(values, dict):
            for name, is_refused in refused.items():
                if is_refused(values.get(name)):
                    raise UnsupportedParameter(name)
        return model.model_validate(values)
    except (ValueError, RecursionError) as exc:
        errors = exc.errors(include_url=False) if isinstance(exc, ValidationError) else []
        wrong = [str(error["loc"][0]) for error in errors if error["loc"]]  # nowhere: it is no object
        if not wrong:
            needed = next(field.alias or name for name, field in fields.items() if field.is_required())
            raise InvalidJson(f'Request body must be a JSON object such as {{"{needed}": {example}}}') from exc
        if not {"query", "question"}.isdisjoint(wrong):
            raise InvalidQuery from exc
        field = fields[wrong[0]]
        param = field.alias or wrong[0]
        raise InvalidParameter(f"{param} must be {field.description}", param=param) from exc


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def is_from_another_site(*, host: str, origin: str, fetch_site: str = "") -> bool:
    """Return whether a page of another site sent a request, whose browser would lend it this server's address.

    The arguments are the headers ``Host``, ``Origin`` and ``Sec-Fetch-Site``, ``""`` if absent. Every browser sends
    ``Origin`` with all but GET; programs such as curl send neither of the two.
    """
    if fetch_site.lower() not in {"", "none", "same-origin"}:
        return True
    return origin != "" and origin.partition("://")[2].lower() != host.lower()
