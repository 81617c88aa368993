"""The lines of a PDF's pages, and which of them are running headers, footers and page numbers."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

EDGE_LINES = 2
"""How many lines at a page's beginning, and at its end, may be a running header or footer."""

REPEATS = 3
"""On as many pages it is one."""

HEADING_SCALE = 1.08  # Word's smallest heading has letters of 12 points above text of 11
GAP_SCALE = 1.3  # times the usual distance of lines: more is space that was left on purpose

_NUMBER = re.compile(r"\d{1,5}")
_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]+)(?:\s*(?:/|of)\s*\d{1,4})?\W*", re.IGNORECASE)

type _Trace = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. ``page`` counts from 0; its ``height`` on the page and its letters' ``size`` are in points.

    ``columns``: how many parts it has that stand apart. A table stands as one line without text, with its Markdown in
    ``table``.
    """

    text: str
    page: int
    height: float
    size: float
    columns: int = 1
    table: str = ""


def body_size(lines: Sequence[Line]) -> float:
    """The size of the letters of most of the text."""
    most = sizes(lines).most_common(1)
    return most[0][0] if most else 0.0


def sizes(lines: Sequence[Line]) -> Counter[float]:
    """How many characters each size of letters has."""
    found: Counter[float] = Counter()
    for line in lines:
        if not line.table:
            found[line.size] += len(line.text)
    return found


def usual_gap(lines: Sequence[Line]) -> float:
    """The most frequent distance from line to line on a page; infinite when nothing is known."""
    gaps = Counter(round(2 * gap) / 2 for before, line in pairwise(lines) if (gap := gap_between(before, line)) > 0)
    return gaps.most_common(1)[0][0] if gaps else math.inf


def gap_between(before: Line, line: Line) -> float:
    """How far below ``before`` a line is, in points; 0 or less: it is not below, or nothing is known."""
    return before.height - line.height if before.page == line.page else 0.0


def without_running(pages: Sequence[Sequence[Line]]) -> Iterator[Line]:
    """The lines of ``pages`` without page numbers and what runs along.

    That is: it stands apart at the same height of several pages, in no larger letters than the text's, and says the
    same but for a number that goes with the pages. A page is never left empty.
    """
    lines = [line for page in pages for line in page]
    largest = HEADING_SCALE * body_size(lines)
    apart = GAP_SCALE * usual_gap(lines)
    seen: defaultdict[_Trace, set[int]] = defaultdict(set)
    for page in pages:
        for line in {*page[:EDGE_LINES], *page[-EDGE_LINES:]}:
            for trace in _traces(line):
                seen[trace].add(line.page)

    def runs(line: Line) -> bool:
        if line.size >= largest or line.table:
            return False
        if len(pages) > 1 and _PAGE_NUMBER.fullmatch(line.text):
            return True
        return any(len(seen[trace]) >= REPEATS for trace in _traces(line))

    for page in pages:
        top = _count(page, runs, apart)
        rest = page[top:]
        yield from rest[: len(rest) - _count(rest[::-1], runs, apart)]


def _count(page: Sequence[Line], runs: Callable[[Line], bool], apart: float) -> int:
    """How many lines at the beginning of ``page`` run along and stand apart from what follows."""
    for count in range(min(EDGE_LINES, len(page) - 1), 0, -1):
        distance = abs(page[count - 1].height - page[count].height)
        if distance > apart and all(runs(line) for line in page[:count]):
            return count
    return 0


def _traces(line: Line) -> Iterator[_Trace]:
    height = round(line.height)
    yield line.text, 0, height
    for match in _NUMBER.finditer(line.text):
        words = f"{line.text[: match.start()]}\0{line.text[match.end() :]}"
        yield words, int(match[0]) - line.page, height
