"""What a question names of a reference (an option, a setting, a method): then the answer is in its entry.

An entry is a passage under a heading that is code and nothing else, or the row of a table that begins with a name. Of
450 questions with names to three public manuals 410 are then answered right, and 329 without (docs/retrieval.md).
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")
_CODE = re.compile(r"`+([^`]+)`+")
_CELL_MARKS = re.compile(r"[`*\s]+|<[^<>]*>|\]\([^()]*\)|\[(?=[`\w])")
_ALSO = re.compile(r",\s+(?=-)")
_NAME = re.compile(r"[\w.-]*\w(?:[\w.\[\]/<>-]*[\w>\]])?")
"""A name of code in its signature: ``--cache=<yes|no>``, ``Task.retry(args=None)``, ``-C <commit>``."""


def is_named_entry(text: str, question: str, *, is_best: bool) -> bool:
    """Return whether a passage's ``text`` is an entry that the ``question`` names.

    A name that is a word like others (``timeout``) names its entry only where that ``is_best`` of what was found.
    """
    codes = (part for code in _CODE.finditer(entry_heading(text)[1]) for part in _ALSO.split(code[1]))
    names = (match[0] for code in codes if (match := _NAME.search(code)))
    return any(_is_in(name, question) for name in names if is_best or not _is_word(name))


def is_named_row(row: str, question: str) -> bool:
    """Whether ``row``, the line of a table, begins with a name that the ``question`` has, and that is no mere word."""
    cell = _CELL_MARKS.sub("", row.strip().removeprefix("|").partition("|")[0])
    return len(cell) > 1 and not _is_word(cell) and _is_in(cell, question)


def entry_heading(text: str) -> tuple[int, str]:
    """The heading right above what a passage's ``text`` says, and where it begins; ``""`` if it is no name of code."""
    start, heading, at = 0, "", 0
    for line in text.split("\n"):
        if match := _HEADING.match(line):
            start, heading = at, match[1]
        elif line.strip():
            break
        at += len(line) + 1
    is_code = _CODE.search(heading) and not any(map(str.isalnum, _CODE.sub("", heading)))
    return (start, heading) if is_code else (0, "")


def _is_word(name: str) -> bool:
    return name.isalpha() and name[1:].islower()


def _is_in(name: str, question: str) -> bool:
    """Return whether ``question`` has ``name`` as a word, with its leading dashes, in any case of letters."""
    if name.casefold() not in question.casefold():
        return False  # most names: a pattern of each takes a tenth as long as the whole answer
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", question, re.IGNORECASE) is not None
