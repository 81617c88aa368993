"""Lines of a PDF to Markdown: headings marked, lines joined to paragraphs that go on over page breaks.

A PDF knows neither. They are told by the size of the letters and the distance of the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from documents.converters.output import literal
from documents.converters.pdf_pages import (
    GAP_SCALE,
    HEADING_SCALE,
    Line,
    body_size,
    gap_between,
    sizes,
    usual_gap,
    without_running,
)

MAX_HEADING_CHARS = 200
MAX_HEADING_SHARE = 0.2  # of all characters: more in one size is text
FULL_SCALE = 0.75  # of the usual length; a shorter line was ended on purpose
_USUAL_LENGTH_RANK = 0.9  # so many of the lines are no longer than the usual length
_LOWEST_LEVEL = 6

_BULLET = re.compile(r"[•◦‣▪▫●○■□\uf0b7]\s*(?=\S)")
_ITEM = re.compile(r"(?:\d{1,2}[.)]|[a-z]\)|[-–*])\s")
_LEADER = re.compile(r"(?:\s?\.){4,}\s*\w*$")  # "Introduction ......... 1", in a table of contents
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’»)\]]*$")
_HYPHENATED = re.compile(r"(\w*[^\W\d_])([-\u00ad\u2010])$")
_COMPOUND = re.compile(r"\w+-\w+")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def markdown(pages: Sequence[Sequence[Line]]) -> str:
    """The text of ``pages``, of which at least one has a line, as one Markdown text."""
    lines = [line for line in without_running(pages) if not _LEADER.search(line.text)]
    levels = _heading_levels(lines)
    joiner = _Joiner(lines)
    parts: list[str] = []

    def kind(line: Line) -> tuple[int, int, str]:
        level = 0 if line.table else levels.get(line.size, 0)
        return (level, line.page if level else 0, line.table)  # text goes on over pages, a heading does not

    for (level, _, table), group in groupby(lines, key=kind):
        run = list(group)
        text = " ".join(line.text for line in run)
        if table:
            parts.append(table)
        elif level and len(text) <= MAX_HEADING_CHARS and any(char.isalpha() for char in text):
            parts.append(f"{'#' * level} {text}")
        else:
            parts += joiner.paragraphs(run)
    return "\n\n".join(parts)


def title(pages: Sequence[Sequence[Line]], own: str) -> str:
    """The title: ``own``, of the file's properties, if the first page says the same; else the largest heading there.

    What is in the properties is often of the file that this one was made from.
    """
    first = next((page for page in pages if page), ())
    if own and _letters(own) in _letters("".join(line.text for line in first)):
        return own
    body = body_size([line for page in pages for line in page])
    largest = max((line.size for line in first if any(map(str.isalpha, line.text))), default=0.0)
    runs = groupby(first, key=lambda line: line.size == largest)
    found = next((" ".join(line.text for line in run) for largest_size, run in runs if largest_size), "")
    return found if largest >= HEADING_SCALE * body and _is_name(found) else own


def _is_name(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 1 and len(text) <= MAX_HEADING_CHARS


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _heading_levels(lines: Sequence[Line]) -> dict[float, int]:
    """The heading level of each size of letters that headings have.

    ``#`` for one at the very beginning that is larger than all others, ``##`` and below for the rest.
    """
    counts = sizes(lines)
    limit = MAX_HEADING_SHARE * counts.total()
    smallest = HEADING_SCALE * body_size(lines) if lines else 0.0
    found = sorted((size for size, count in counts.items() if size >= smallest and count <= limit), reverse=True)
    runs = [size for (size, _), _ in groupby(lines, key=lambda line: (line.size, line.page)) if size in found]
    top = 1 if runs and runs[0] == found[0] and runs.count(found[0]) == 1 else 2
    return {size: min(top + rank, _LOWEST_LEVEL) for rank, size in enumerate(found)}


class _Joiner:
    """Joins lines to paragraphs, with what is usual in the whole text."""

    def __init__(self, lines: Sequence[Line]) -> None:
        lengths = sorted(len(line.text) for line in lines)
        self._full = FULL_SCALE * lengths[int(_USUAL_LENGTH_RANK * (len(lengths) - 1))] if lengths else 0
        self._apart = GAP_SCALE * usual_gap(lines)
        self._compounds = {word.casefold() for line in lines for word in _COMPOUND.findall(line.text)}

    def paragraphs(self, lines: Sequence[Line]) -> Iterator[str]:
        """The paragraphs and list items of ``lines``, as Markdown."""
        text = lines[0].text
        for before, line in pairwise(lines):
            if self._begins(before, line):
                yield _block(text)
                text = line.text
            else:
                text = self._joined(text, line, before)
        yield _block(text)

    def _begins(self, before: Line, line: Line) -> bool:
        ended = _SENTENCE_END.search(before.text) is not None
        full = len(before.text) >= self._full
        if _BULLET.match(line.text) or (_ITEM.match(line.text) and (ended or not full)):
            return True
        gap = gap_between(before, line)
        if gap <= 0:  # another page or column: a sentence goes on there
            return ended
        return gap > self._apart or (ended and not full)

    def _joined(self, text: str, line: Line, before: Line) -> str:
        cut, start = _HYPHENATED.search(text), _FIRST_WORD.match(line.text)
        if cut and start and start[0][0].islower():
            compound = f"{cut[1]}-{start[0]}".casefold() in self._compounds
            return text[: cut.start(2)] + ("-" if compound else "") + line.text
        if before.columns > 1 and line.columns > 1:
            return f"{text}\n{line.text}"  # rows of a table without lines
        goes_on = len(before.text) >= self._full or line.text[0].islower() or before.page != line.page
        return text + (" " if goes_on else "\n") + line.text


def _block(text: str) -> str:
    bullet = _BULLET.match(text)
    return f"- {literal(text[bullet.end() :])}" if bullet else literal(text)
