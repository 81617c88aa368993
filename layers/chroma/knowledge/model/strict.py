"""JSON that is read without trusting it: one object, each key once, finite numbers, each value of its kind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

type Object = Mapping[str, object]


class WrongValue(ValueError):
    """What was found where something else is accepted, in a few words."""


def parse(text: str | bytes) -> Object:
    """The JSON object that ``text`` is, in UTF-8 without a byte order mark.

    Raises:
        Wrong: it is something else.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode()  # json would take UTF-16, UTF-32 and a BOM too
        body = json.loads(decoded, object_pairs_hook=_once, parse_constant=_refuse)
    except WrongValue:
        raise
    except (ValueError, RecursionError) as exc:
        raise WrongValue("it is not complete JSON") from exc
    if not isinstance(body, dict):
        raise WrongValue("it is not a JSON object")
    return body


def checksum(body: Object) -> str:
    """The sha256 (hex) of ``body`` in one canonical form, whatever its keys' order and the spaces between them.

    Raises:
        Wrong: a number is not finite.
    """
    try:
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as exc:
        raise WrongValue("a value is out of range") from exc
    return hashlib.sha256(canonical.encode()).hexdigest()


def an_object(body: Object, key: str) -> Object:
    """The object at ``key``."""
    value = body.get(key)
    if not isinstance(value, dict):
        raise WrongValue(f"{key} is {_said(value)}, not an object")
    return value


def object_or_null(body: Object, key: str) -> Object | None:
    """The object at ``key``, which may be null but not missing."""
    if key not in body:
        raise WrongValue(f"{key} is missing")
    return None if body[key] is None else an_object(body, key)


def objects(body: Object, key: str) -> list[Object]:
    """The list of objects at ``key``."""
    found = a_list(body, key)
    if not all(isinstance(item, dict) for item in found):
        raise WrongValue(f"an item of {key} is not an object")
    return found


def texts(body: Object, key: str) -> tuple[str, ...]:
    """The list of texts at ``key``."""
    found = a_list(body, key)
    if not all(isinstance(item, str) for item in found):
        raise WrongValue(f"an item of {key} is not text")
    return tuple(found)


def a_list(body: Object, key: str) -> list[Any]:
    """The list at ``key``."""
    value = body.get(key)
    if not isinstance(value, list):
        raise WrongValue(f"{key} is {_said(value)}, not a list")
    return value


def text(body: Object, key: str) -> str:
    """The text at ``key``."""
    value = body.get(key)
    if not isinstance(value, str):
        raise WrongValue(f"{key} is {_said(value)}, not text")
    return value


def count(body: Object, key: str) -> int:
    """The whole number >= 0 at ``key``."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WrongValue(f"{key} is {_said(value)}, not a count")
    return value


def moment(body: Object, key: str) -> str:
    """The time at ``key``, ISO 8601."""
    value = text(body, key)
    try:
        datetime.fromisoformat(value)
    except ValueError as exc:
        raise WrongValue(f"{key} is {value!r}, not a time") from exc
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise WrongValue("a key stands there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise WrongValue(f"{constant} is no number")


def _said(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]
