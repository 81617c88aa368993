"""Characters without a glyph, in which a text can be hidden from its readers and not from a model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from knowledge.read.fields import Fields

# Unicode's Default_Ignorable_Code_Point, and the marks of interlinear annotations.
_RUN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_VARIANT = re.compile("[\ufe00-\ufe0f]")
_JOINED = re.compile("[\u0600-\u109f\u1780-\u18af\u1a20-\u1aaf\ufb50-\ufdff\ufe70-\ufefc]")
"""Scripts from Arabic to Myanmar, Khmer and Mongolian: joiners form their letters, a blank without width ends words."""
_EMOJI = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_JOINERS = frozenset("\u180b\u180c\u180d\u180f\u200b\u200c\u200d")
_FLAG = re.compile("[\U000e0061-\U000e007a]{4,6}\U000e007f")  # behind a black flag: England's, Scotland's, Wales'
_LEAST_RUN = 8
"""Shorter runs are of usual writing: of 300 public pages with such characters the longest has 4."""


def drop_invisible(text: str) -> tuple[str, int]:
    """Return ``text`` without invisible characters, and the number of words that were written in them.

    A joiner stays behind a letter of a script that needs it, and between emoji. A long run of tags or selectors is as
    many words as it spells, any other is one.
    """
    words = 0

    def reduce(match: re.Match[str]) -> str:
        nonlocal words
        before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
        run = _VARIANT.sub("", match[0])
        if before == "\U0001f3f4" and _FLAG.fullmatch(run):
            return run
        if len(match[0]) >= _LEAST_RUN:
            words += max(len("".join(chr(ord(char) & 0x7F) for char in run if char >= "\U000e0000").split()), 1)
        is_joined = _JOINED.match(before) or (_EMOJI.match(before) and _EMOJI.match(after))
        return run[:1] if is_joined and _JOINERS.issuperset(run) else ""

    return _RUN.sub(reduce, text), words


def invisible_caveat(words: int) -> tuple[str, ...]:
    """Return the caveat about ``words`` in invisible characters, in the words of ``documents``; ``()`` for none."""
    return (f"left out as hidden: {words} word{'s' if words != 1 else ''}",) if words else ()


def drop_invisible_fields(fields: Fields) -> Fields:
    """Return ``fields`` without invisible characters."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return drop_invisible(value)[0]
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        return {plain(key): plain(one) for key, one in value.items()} if isinstance(value, dict) else value

    return replace(fields, **{name: plain(getattr(fields, name)) for name in Fields.__slots__})
