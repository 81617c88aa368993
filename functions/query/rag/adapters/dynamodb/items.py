"""An item of the DynamoDB table: where it lies, its plain values, and DynamoDB's own notation of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

type Value = str | int | float | bool | bytes
type Item = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Key:
    """Where an item lies."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Row:
    """An item to write: ``values`` without None; gone from the Unix second ``expires_at`` on."""

    key: Key
    values: Mapping[str, Value | None]
    expires_at: int


@dataclass(frozen=True, slots=True)
class Swap:
    """``row`` in place of ``before``, as it was read, and of nothing else; None where there was none, or expired."""

    row: Row
    before: Item | None


def marshal(values: Mapping[str, Value | None]) -> dict[str, Any]:
    """DynamoDB's own notation of ``values``, those that are None left out."""
    return {name: _marshal_value(value) for name, value in values.items() if value is not None}


def _marshal_value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case bytes():
            return {"B": value}
        case _:
            return {"N": repr(value)}


def marshal_key(key: Key) -> dict[str, Any]:
    """DynamoDB's own notation of ``key``."""
    return marshal({"pk": key.pk, "sk": key.sk})


def marshal_row(row: Row) -> dict[str, Any]:
    """DynamoDB's own notation of the whole item."""
    return marshal_key(row.key) | marshal(row.values) | marshal({"expiresAt": row.expires_at})


def unmarshal(item: Mapping[str, Any]) -> Item:
    """The plain values of an item; a number is a float."""
    return {name: _unmarshal_value(value) for name, value in item.items()}


def _unmarshal_value(value: Mapping[str, Any]) -> Value:
    ((kind, plain),) = value.items()
    if kind == "N":
        return float(plain)
    result: Value = plain
    return result
