"""The pieces that docs/openapi.json is put together from."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from rag.http.schema import ErrorReply
from ragctl.openapi_errors import examples
from ragctl.openapi_protocols import ref


def operation(
    name: str,
    tag: str,
    summary: str,
    description: str = "",
    *,
    responses: dict[str, Any],
    errors: dict[str, str],
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    openai: bool = False,
) -> dict[str, Any]:
    """An operation; ``openai`` says that its errors have OpenAI's shape."""
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        **({"description": description} if description else {}),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": body}} if body else {}),
        "responses": {**responses, **{status: _wrong(status, what, openai) for status, what in sorted(errors.items())}},
    }


def _wrong(status: str, what: str, openai: bool) -> dict[str, Any]:
    shown = examples(what, int(status), openai=openai)
    schema = ref("OpenAiError" if openai else ErrorReply.__name__)
    content = {"application/json": {"schema": schema, **({"examples": shown} if shown else {})}}
    retry = {"Retry-After": {"description": "Seconds to wait, where it is known.", "schema": {"type": "integer"}}}
    return {**told(what, content), **({"headers": retry} if status in {"429", "503"} else {})}


def static_file(name: str, summary: str, kind: str) -> dict[str, Any]:
    """A file that needs no key."""
    content = {kind: {"schema": {"type": "string"}}}
    missing = told("not_found: there is no such file, or no page is served (WEB=off)", of_model(ErrorReply))
    return {
        "operationId": name,
        "tags": ["Page"],
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


def of_named(name: str, example: object) -> dict[str, Any]:
    """JSON of the schema ``name``, such as ``example``."""
    return {"application/json": {"schema": ref(name), "example": example}}


def stream(example: str, events: dict[str, str]) -> dict[str, Any]:
    """Server-sent events: ``events`` names the schema of each event's data, which OpenAPI 3.1 has no field for."""
    typed = {name: ref(schema) for name, schema in events.items()}
    return {"text/event-stream": {"schema": {"type": "string"}, "example": example, "x-events": typed}}
