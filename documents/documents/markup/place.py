"""Where a tag stands: in an address, alone on its line, or among words."""

from __future__ import annotations

import re

_IN_ADDRESS = re.compile(r"(?:\]\(<?|\]:\s*<?|\b(?:href|src)=[\"']?)\S*$")
_LOOK_BACK_CHARS = 300
_LOOK_BACK_LINE_CHARS = 2000
_MARKS = " \t-*+>|:."


def line_start(text: str, at: int) -> int:
    """Where the line of ``at`` begins, or ``_LOOK_BACK_LINE_CHARS`` before it: lines can be megabytes long."""
    first = max(at - _LOOK_BACK_LINE_CHARS, 0)
    return max(text.rfind("\n", first, at) + 1, first)


def in_address(text: str, start: int) -> bool:
    """Whether what begins at ``start`` is part of a link's address."""
    return _IN_ADDRESS.search(_before(text, start)) is not None


def among_words(text: str, start: int, end: int, *, lines: int = 1) -> bool:
    """Whether there is anything but marks on the line, before ``start`` or from ``end`` on.

    With 3 ``lines`` the ones above and below count too: a tag may begin a line in the middle of a sentence.
    """
    stop = text.find("\n", end, end + _LOOK_BACK_CHARS)
    stop = stop if stop >= 0 else min(end + _LOOK_BACK_CHARS, len(text))
    around = _before(text, start) + text[end:stop]
    if lines > 1 and not around.strip(_MARKS):
        first = start - len(_before(text, start))
        around = _before(text, max(first - 1, 0)) + text[stop + 1 : stop + _LOOK_BACK_CHARS].partition("\n")[0]
    return bool(around.strip(_MARKS))


def _before(text: str, start: int) -> str:
    return text[max(line_start(text, start), start - _LOOK_BACK_CHARS) : start]
