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
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


def without_words(error: BaseException) -> None:
    """Take the server's words out of ``error`` and all that it came from; classes stay, and what the system said.

    Of a connection that was not made the words are the system's: no route, refused, a certificate that does not fit.
    """
    from httpcore2 import ConnectError

    for one in _chain(error):
        if not isinstance(one, OSError | ConnectError):
            one.args = ()


def with_identifiers(error: APIStatusError, *, key: str) -> None:
    """As ``without_words``, but what the body names in a short identifier, such as an error's code, stays."""
    without_words(error)
    error.args = (", ".join([f"status {error.status_code}", *_identifiers(error.body, key)]),)


def _identifiers(body: object, key: str) -> Iterator[str]:
    fields = body if isinstance(body, Mapping) else {}
    for name in TOLD_FIELDS:
        value = str(fields.get(name) or "")
        if _IDENTIFIER.fullmatch(value) and key not in value:
            yield f"{name} {value}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it came from, each once."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
