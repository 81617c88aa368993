"""Code that Markdown marks by its indentation alone.

Only what CommonMark takes for code in any case counts, since what is code keeps its tags: four blanks more than the
innermost list's content has, after an empty line, with something above and with no HTML element open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

CODE_INDENT = 4

_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)|\[\^[^\]\s]+\]:")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")

type Span = tuple[int, int]


def indented_runs(text: str, fences: Sequence[Span]) -> Iterator[Span]:
    """From where to where the runs of indented lines in ``text`` reach that are code if no HTML element is open.

    ``fences`` are the fenced blocks of ``text`` in order, each from the start of a line to the end of one.
    """
    offsets: list[int] = []  # of the contents of the list items that are open
    run: Span | None = None
    apart = above = False
    fence = position = 0
    for line in text.split("\n"):
        start, end = position, position + len(line)
        position = end + 1
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        fenced = fence < len(fences) and fences[fence][0] <= start
        if not line.strip() and not fenced:
            apart = True
            continue
        indent = _width(line)
        if run and not fenced and indent >= _code_indent(offsets):
            run = (run[0], end)
            continue
        if run:
            yield run
            run, apart = None, True
        if fenced and fences[fence][0] < start:
            apart = False
            continue
        rest = line.lstrip(" \t")
        if apart or _MARKER.match(rest) or _HEADING.match(rest) or _RULE.match(rest):  # else it may go on a paragraph
            offsets = [offset for offset in offsets if offset <= indent]
        if apart and above and not fenced and indent >= _code_indent(offsets):
            run = (start, end)
        else:
            offsets += _items(rest, indent)
        apart, above = False, True
    if run:
        yield run


def _code_indent(offsets: Sequence[int]) -> int:
    return (offsets[-1] if offsets else 0) + CODE_INDENT


def _items(line: str, indent: int) -> Iterator[int]:
    """Where the contents of the list items and footnotes begin that ``line``, indented by ``indent``, opens."""
    while (marker := _MARKER.match(line)) and not _RULE.match(line):
        if marker[0].startswith("["):
            yield indent + CODE_INDENT
            return
        line = line[marker.end() :]
        blanks = _width(line)
        held = line.strip() != "" and blanks <= CODE_INDENT
        indent += len(marker[0]) + (blanks if held else 1)
        yield indent
        if not held:
            return
        line = line.lstrip(" \t")


def _width(line: str) -> int:
    """The columns that the white space at the start of ``line`` takes."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(CODE_INDENT))
