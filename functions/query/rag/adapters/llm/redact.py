"""What may be told of a vendor's error: the words are the server's, and may repeat the prompt, the question or the key.

A log prints an error with all that it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import APIStatusError

TOLD_FIELDS = ("code", "type", "param")
KEY_PART = 6
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


def redact(error: BaseException) -> None:
    """Take the server's words out of ``error`` and all that it came from; classes stay, and what the system said.

    Of a connection that was not made the words are the system's: no route, refused, a certificate that does not fit.
    """
    from httpcore2 import ConnectError

    for one in _chain(error):
        if not isinstance(one, OSError | ConnectError):
            one.args = ()


def redact_keeping_identifiers(error: APIStatusError, *, key: str) -> None:
    """As ``redact``, but what the body names in a short identifier, such as an error's code, stays.

    Nothing stays that the request held too, nor a part of ``key``.
    """
    redact(error)
    error.args = (", ".join([f"status {error.status_code}", *_identifiers(error, key)]),)


def _identifiers(error: APIStatusError, key: str) -> Iterator[str]:
    fields = error.body if isinstance(error.body, Mapping) else {}
    asked = error.request.content.decode("utf-8", "replace").casefold()
    for name in TOLD_FIELDS:
        value = str(fields.get(name) or "")
        if _IDENTIFIER.fullmatch(value) and value.casefold() not in asked and not _shares(value, key):
            yield f"{name} {value}"


def _shares(value: str, key: str) -> bool:
    """Whether ``value`` holds ``KEY_PART`` characters on end of ``key``, or all of a shorter one."""
    value, key = value.casefold(), key.casefold()
    return any(key[at : at + KEY_PART] in value for at in range(max(1, len(key) - KEY_PART + 1)))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it came from, each once."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
