"""Characters without a glyph, in which a text can be hidden from its readers and not from a model."""

from __future__ import annotations

import re
from typing import Any

# Unicode's Default_Ignorable_Code_Point, and the marks of interlinear annotations.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_JOINED = re.compile(
    "[\u0600-\u109f\u1780-\u18af\u1a20-\u1aaf\u2190-\u2bff\ufb50-\ufdff\ufe70-\ufefc\U0001f000-\U0001faff]"
)
"""Scripts from Arabic to Myanmar, Khmer and Mongolian, and emoji: joiners form their signs, and end words."""
_JOINERS = "\u180b\u180c\u180d\u180f\u200b\u200c\u200d"
_LEAST_RUN = 8
"""Shorter runs are of usual writing: of 300 public pages with such characters the longest has 4."""


def drop_invisible(text: str) -> tuple[str, int]:
    """Return ``text`` without invisible characters, and the number of words that were written in them.

    One joiner stays behind a sign that needs it. A long run of tags or selectors is as many words as it spells, any
    other is one.
    """
    words = 0

    def reduce(match: re.Match[str]) -> str:
        nonlocal words
        if len(match[0]) >= _LEAST_RUN:
            spelled = "".join(chr(ord(char) & 0x7F) for char in match[0] if char >= "\U000e0000")
            words += max(len(spelled.split()), 1)
        is_joined = _JOINED.match(text[max(match.start() - 1, 0) : match.start()])
        return next((char for char in match[0] if char in _JOINERS), "") if is_joined else ""

    return INVISIBLE.sub(reduce, text), words


def invisible_caveat(words: int) -> tuple[str, ...]:
    """Return the caveat about ``words`` in invisible characters, in the words of ``documents``; ``()`` for none."""
    return (f"left out as hidden: {words} word{'s' if words != 1 else ''}",) if words else ()


def drop_invisible_values(value: Any) -> Any:
    """Return a ``value`` of front matter or JSON with all texts in it without invisible characters."""
    match value:
        case str():
            return drop_invisible(value)[0]
        case list():
            return [drop_invisible_values(one) for one in value]
        case dict():
            return {drop_invisible_values(key): drop_invisible_values(one) for key, one in value.items()}
    return value
