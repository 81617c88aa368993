"""Replace parts of a text, and leave no empty lines, list marks or doubled blanks where something went."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

GONE = "\ufdd2"
"""Stands where something was taken out until ``tidy``. A noncharacter of Unicode: no text holds it."""

_GONE_LINE = re.compile(rf"^[ \t>|:*+.#-]*{GONE}[ \t>|:*+.#{GONE}-]*(?:\n|\Z)", re.MULTILINE)
_GONE_BETWEEN_BLANKS = re.compile(rf"(?<=[ \t])(?:{GONE}[ \t]*)+|[ \t]*{GONE}(?=[ \t]*[\n.,;)])")
_GONE_RUN = re.compile(f"{GONE}{{2,}}")


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters ``start`` to ``end`` become ``text``."""

    start: int
    end: int
    text: str = ""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits`` made, in order of their start; one that begins inside of an earlier one is left out.

    Of a line that is left with nothing but list or table marks nothing remains.
    """
    parts, done = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= done:
            parts += [text[done : edit.start], edit.text or GONE]
            done = edit.end
    return tidy("".join([*parts, text[done:]])) if parts else text


def tidy(text: str) -> str:
    """``text`` without the marks of what went, and what only stood around it."""
    if GONE not in text:
        return text
    text = _GONE_LINE.sub("", _GONE_RUN.sub(GONE, text))  # a run is one: looked at mark by mark, it takes its square
    return _GONE_BETWEEN_BLANKS.sub("", text).replace(GONE, "")
