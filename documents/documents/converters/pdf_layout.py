"""Lines of a PDF to Markdown: headings marked, lines joined to paragraphs that go on over page breaks.

A PDF knows neither. The size of the letters and the distance of the lines tell them; lines that repeat on
several pages are running headers, footers and page numbers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from documents.converters.output import literal

EDGE_LINES = 3  # at a page's top, and at its foot, that may be a running header or footer
REPEATS = 3  # on as many pages it is one; in the margin of a shorter file on two
HEADING_SCALE = 1.08  # Word's smallest heading has letters of 12 points above text of 11
_LEADING = 1.2  # of the letters' size
_MAX_LEADING = 2.6  # two lines for one
GAP_SCALE = 1.3  # times the usual distance of lines: more is space that was left on purpose

_NUMBER = re.compile(r"\d{1,5}")
_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]+)(?:\s*(?:/|of)\s*\d{1,4})?\W*", re.IGNORECASE)

type Cell = tuple[float, float, str]
"""The left and right ends of a text, in points, and its words."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. ``page`` counts from 0; its ``height`` on the page and its letters' ``size`` are in points.

    A table is one line without cells, with its Markdown in ``table``. ``in_margin``: where headers and footers stand.
    """

    cells: tuple[Cell, ...]
    page: int
    height: float
    size: float
    table: str = ""
    in_margin: bool = False

    @property
    def text(self) -> str:
        """The words of all cells."""
        return " ".join(text for _, _, text in self.cells)


def body_size(lines: Sequence[Line]) -> float:
    """Return the size of most of the text's letters."""
    return next((size for size, _ in count_sizes(lines).most_common(1)), 0.0)


def count_sizes(lines: Sequence[Line]) -> Counter[float]:
    """Count the characters of each letter size."""
    found: Counter[float] = Counter()
    for line in lines:
        if not line.table:
            found[line.size] += len(line.text)
    return found


def usual_gap(lines: Sequence[Line]) -> float:
    """Return the most frequent distance between lines of a page, of equals the least; else that of single spacing."""
    pairs = ((line.size, gap_between(before, line)) for before, line in pairwise(lines))
    gaps = Counter(round(2 * gap) / 2 for size, gap in pairs if 0 < gap <= _MAX_LEADING * size)
    usual = max(gaps, key=lambda gap: (gaps[gap], -gap), default=0.0)
    return usual if gaps[usual] > 1 else _LEADING * body_size(lines)


def gap_between(before: Line, line: Line) -> float:
    """Return the points that ``line`` is below ``before``; 0 or less if it is not below, or unknown."""
    return before.height - line.height if before.page == line.page else 0.0


def drop_running_lines(pages: Sequence[Sequence[Line]]) -> Iterator[Line]:
    """Yield the lines of ``pages`` without page numbers, running headers and running footers.

    A running line stands apart at the same height of three pages, or in the margin of two if there are no more than
    three. Its letters are no larger than the text's, its words the same except for a number that counts with the pages.
    A page is never left empty.
    """
    lines = [line for page in pages for line in page]
    largest = HEADING_SCALE * body_size(lines)
    apart = GAP_SCALE * usual_gap(lines)
    seen: defaultdict[tuple[str, int, int], set[int]] = defaultdict(set)
    levels = [_levels(page) for page in pages]
    for each in levels:
        for line in {line for level in [*each[:EDGE_LINES], *each[-EDGE_LINES:]] for line in level}:
            for trace in _running_keys(line):
                seen[trace].add(line.page)

    def runs(line: Line) -> bool:
        if line.size >= largest or line.table:
            return False
        if len(pages) > 1 and _PAGE_NUMBER.fullmatch(line.text):
            return True
        repeats = 2 if line.in_margin and len(pages) <= REPEATS else REPEATS
        return any(len(seen[trace]) >= repeats for trace in _running_keys(line))

    for page, its_levels in zip(pages, levels, strict=True):
        top = its_levels[: _count_running(its_levels, runs, apart)]
        upwards = its_levels[: len(top) - 1 if top else None : -1]
        foot = upwards[: _count_running(upwards, runs, apart)]
        running = {line for level in [*top, *foot] for line in level}
        yield from (line for line in page if line not in running)


def _levels(page: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of ``page`` from the top to the foot, those of one height together, without turned text."""
    upright = sorted((line for line in page if line.size or line.table), key=lambda line: -line.height)
    return [list(level) for _, level in groupby(upright, key=lambda line: round(line.height))]


def _count_running(levels: Sequence[Sequence[Line]], runs: Callable[[Line], bool], apart: float) -> int:
    """Count the running levels at the beginning of a page that stand apart from the next one."""
    for count in range(min(EDGE_LINES, len(levels) - 1), 0, -1):
        lines = [line for level in levels[:count] for line in level]
        if abs(lines[-1].height - levels[count][0].height) > apart and all(map(runs, lines)):
            return count
    return 0


def _running_keys(line: Line) -> Iterator[tuple[str, int, int]]:
    height = round(line.height)
    yield line.text, 0, height
    for match in _NUMBER.finditer(line.text):
        words = f"{line.text[: match.start()]}\0{line.text[match.end() :]}"
        yield words, int(match[0]) - line.page, height


MAX_HEADING_CHARS = 200
MAX_HEADING_SHARE = 0.2  # of all characters: more in one size is text
FULL_SCALE = 0.75  # of the length that 90 % of the lines have at most; a shorter line was ended on purpose

_BULLET = re.compile(r"[•◦‣▪▫●○■□\uf0b7]\s*(?=\S)")
_ITEM = re.compile(r"(?:\(?\d{1,2}[.)]|\(?[a-z]\)|[-–*])\s")
_LEADER = re.compile(r"(?:\s?\.){4,}\s*(\w*)$")  # "Introduction ......... 1", in a table of contents
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’»)\]]*$")
_HYPHENATED = re.compile(r"(\w*[^\W\d_])([-\u00ad\u2010])$")
_COMPOUND = re.compile(r"\w+-\w+")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def markdown(pages: Sequence[Sequence[Line]]) -> str:
    """Return the lines of ``pages`` as Markdown."""
    lines = _drop_contents(list(drop_running_lines(pages)), len(pages))
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


def _drop_contents(lines: Sequence[Line], pages: int) -> Sequence[Line]:
    """Return ``lines`` without a table of contents: its numbers rise, unlike those of a list of prices."""
    numbers = [int(end) for line in lines for end in _LEADER.findall(line.text) if end.isdecimal()]
    falls = sum(number < before for before, number in pairwise(numbers))
    if 5 * falls > len(numbers) or (pages <= 2 and max(numbers, default=0) > pages):  # the second: no page's
        return lines
    return [line for line in lines if not _LEADER.search(line.text)]


def title(pages: Sequence[Sequence[Line]], own: str) -> str:
    """Return ``own``, from the properties, if the first page has it (it may be another file's), else its heading."""
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
    """Return the heading level of each letter size that headings have.

    ``#`` for a heading at the very beginning that is larger than all others, ``##`` and below for the rest.
    """
    counts = count_sizes(lines)
    limit = MAX_HEADING_SHARE * (counts.total() + sum(len(line.table) for line in lines))
    smallest = HEADING_SCALE * body_size(lines) if lines else 0.0
    found = sorted((size for size, count in counts.items() if size >= smallest and count <= limit), reverse=True)
    runs = [size for (size, _), _ in groupby(lines, key=lambda line: (line.size, line.page)) if size in found]
    top = 1 if runs and runs[0] == found[0] and runs.count(found[0]) == 1 else 2
    return {size: min(top + rank, 6) for rank, size in enumerate(found)}


class _Joiner:
    """A joiner of lines to paragraphs, by the usual line length and distance of the whole text."""

    def __init__(self, lines: Sequence[Line]) -> None:
        lengths = sorted(len(line.text) for line in lines)
        self._full = FULL_SCALE * lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
        self._apart = GAP_SCALE * usual_gap(lines)
        self._compounds = {word.casefold() for line in lines for word in _COMPOUND.findall(line.text)}

    def paragraphs(self, lines: Sequence[Line]) -> Iterator[str]:
        """Yield the paragraphs and list items of ``lines``, as Markdown."""
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
        if bool(before.size) != bool(line.size):  # turned text is none of the paragraph's
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
        if min(len(before.cells), len(line.cells)) > 1:
            return f"{text}\n{line.text}"  # rows of a table without lines
        goes_on = len(before.text) >= self._full or line.text[0].islower() or before.page != line.page
        return text + (" " if goes_on else "\n") + line.text


def _block(text: str) -> str:
    bullet = _BULLET.match(text)
    return f"- {literal(text[bullet.end() :])}" if bullet else literal(text)
