"""Entries of a reference (an option, a setting, a method) that a question names: then the answer is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.values.answer import Passage

_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")
_CODE = re.compile(r"`+([^`]+)`+")
_NAME = re.compile(r"[\w.-]*\w(?:[\w.\[\]/<>-]*[\w>\]])?")
"""A name of code in its signature: ``--cache=<yes|no>``, ``Task.retry(args=None)``, ``-C <commit>``."""


def named_passages(passages: Sequence[Passage], question: str) -> dict[int, int]:
    """The places of those of ``passages`` whose entry the ``question`` names, each with where its heading begins.

    An entry is a passage under a heading that is code and nothing else.
    """
    found = {}
    for place, passage in enumerate(passages):
        start, heading = entry_heading(passage.text)
        if any(_is_in(name, question) for name in _names(heading)):
            found[place] = start
    return found


def entry_heading(text: str) -> tuple[int, str]:
    """The heading right above what a passage's ``text`` says, and where it begins; ``""`` if it is no name of code."""
    start, heading, at = 0, "", 0
    for line in text.split("\n"):
        if match := _HEADING.match(line):
            start, heading = at, match[1]
        elif line.strip():
            break
        at += len(line) + 1
    return (start, heading) if _CODE.search(heading) and not _has_words(_CODE.sub("", heading)) else (0, "")


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _names(heading: str) -> Iterator[str]:
    return (match[0] for code in _CODE.finditer(heading) if (match := _NAME.search(code[1])))


def _is_in(name: str, question: str) -> bool:
    """Whether ``question`` has ``name`` as a word, its first dashes with it; in any case of letters."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", question, re.IGNORECASE) is not None
