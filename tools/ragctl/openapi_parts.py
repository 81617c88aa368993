"""The pieces that docs/openapi.json is put together from."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from rag.http.schema import ErrorReply


def operation(
    name: str,
    summary: str,
    description: str = "",
    *,
    responses: dict[str, Any],
    errors: dict[str, str],
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    shape: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """An operation; ``shape`` is an error as it looks there, where it is not an ErrorReply."""
    wrong = of_object(shape) if shape else of_model(ErrorReply)
    return {
        "operationId": name,
        "summary": summary,
        **({"description": description} if description else {}),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": body}} if body else {}),
        "responses": {**responses, **{status: told(what, wrong) for status, what in sorted(errors.items())}},
    }


def static_file(name: str, summary: str, kind: str) -> dict[str, Any]:
    """A file that needs no key."""
    content = {kind: {"schema": {"type": "string"}}}
    missing = told("not_found: there is no such file, or no page is served (WEB=off)", of_model(ErrorReply))
    return {
        "operationId": name,
        "summary": summary,
        "security": [{}],
        "responses": {"200": told(summary, content), "404": missing},
    }


def parameter(name: str, place: str, what: str, example: str) -> dict[str, Any]:
    """A parameter of the address."""
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": what,
        "schema": {"type": "string"},
        "example": example,
    }


def told(what: str, content: dict[str, Any]) -> dict[str, Any]:
    """A body or response: ``what`` it is, and its ``content`` by media type."""
    return {"description": what, "content": content}


def of_model(model: type[BaseModel], *examples: object) -> dict[str, Any]:
    """JSON of ``model``, with ``examples``."""
    shown = {f"example{n}": {"value": example} for n, example in enumerate(examples, start=1)}
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"application/json": {"schema": schema, **({"examples": shown} if shown else {})}}


def of_object(example: object) -> dict[str, Any]:
    """JSON of no model of ours, such as ``example``."""
    return {"application/json": {"schema": {"type": "object"}, "example": example}}
