"""What a model is told of the documents before it asks: instructions, the tools' descriptions, fields to filter by."""

from __future__ import annotations

from typing import Any

from rag.values.question import FilterField, Overview

_HOW = (
    "Use `ask` for a question: the answer is checked against the passages that it cites, and it says how sure it is. "
    "When `refused` is true the documents do not hold the answer: say so, and do not answer from elsewhere. Use "
    "`search` to read passages yourself, and the resource chunk://ID for one that is cited."
)
_COMPARISON = {
    "type": "object",
    "description": "One comparison.",
    "properties": {sign: {"type": "number"} for sign in ("$gte", "$lte", "$gt", "$lt", "$ne")},
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}
_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def about(known: Overview | None) -> str:
    """The documents in a sentence or three; None where there is no index."""
    if known is None:
        return "Answers questions from a fixed set of documents, which are not loaded now."
    parts = [f"Answers questions from a fixed set of {known.documents} documents."]
    if known.categories:
        parts.append(f"Their categories: {', '.join(known.categories)}.")
    if known.titles:
        parts.append(f"Some of their titles: {'; '.join(known.titles)}.")
    return " ".join(parts)


def instructions(known: Overview | None) -> str:
    """How a model should use this server."""
    return f"{about(known)} {_HOW}"


def filters_schema(known: Overview | None, description: str) -> dict[str, Any]:
    """The JSON Schema of ``filters``: each field with its values where these are few."""
    fields = (known.fields if known else None) or {}
    return {
        "description": description,
        "anyOf": [
            {
                "type": "object",
                "properties": {name: _field(one) for name, one in fields.items()},
                "maxProperties": 20,
                "additionalProperties": not fields,
            },
            {"type": "null"},
        ],
        "default": None,
    }


def _field(field: FilterField) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _JSON_TYPES.get(field.kind, ["string", "number", "boolean"])}
    if field.values:
        one["enum"] = list(field.values)
    forms = [one, {"type": "array", "items": one, "minItems": 1}]
    return {"anyOf": [*forms, _COMPARISON] if field.kind in {"int", "float"} else forms}
