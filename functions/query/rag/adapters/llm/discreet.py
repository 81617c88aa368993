"""What may be told of a vendor's error: the words are the server's, and may repeat the prompt, the question or the key.

A log prints an error with all that it came from. At DEBUG the words are told, without the key.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import APIStatusError

logger = logging.getLogger(__name__)

TOLD_FIELDS = ("code", "type", "param")
MAX_TOLD_CHARS = 2000
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


def without_words(error: BaseException) -> None:
    """Take the server's words out of ``error``, and out of all that it came from; classes and system errors stay."""
    for one in _chain(error):
        if not isinstance(one, OSError):  # the system's own words: no route, refused, timed out
            one.args = ()


def with_identifiers(error: APIStatusError, *, key: str) -> None:
    """As ``without_words``, but what the body names in a short identifier, such as an error's code, stays."""
    logger.debug("The server said: %s", str(error).replace(key, "***")[:MAX_TOLD_CHARS])
    without_words(error)
    error.args = (", ".join([f"status {error.status_code}", *_identifiers(error.body, key)]),)


def quiet_client() -> None:
    """Keep the client's own line about each response, in which the reason is the server's, out of the log."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)


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
