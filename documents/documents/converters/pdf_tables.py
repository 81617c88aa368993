"""Tables of a PDF's pages that have lines around their cells, found by pdfplumber."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pypdf import PageObject

from documents.converters import sheets
from documents.converters.output import one_line

MAX_PAGE_BYTES = 2_000_000
MAX_EDGES = 4000
"""A page with more lines or larger drawing instructions is a map or a drawing: finding cells in it takes minutes."""

_STROKE = re.compile(rb"\b(?:re|l)\b")
_MIN_STROKES = 4
_MIN_FILLED = 0.3  # of the cells; a form or a drawing has fewer
_MIN_CELLS = 0.5  # of what the columns and rows make; bars of a chart have fewer

_MIN_ALIKE = 3  # cells, and lines in each: fewer are as many by chance
_READING: dict[str, Any] = {
    "x_tolerance_ratio": 0.2,  # of the letters' size: more is a space
    "char_dir_rotated": "btt",  # the names of narrow columns run up
    "line_dir_rotated": "ltr",
}
_MAX_TURNED = 0.5  # of the letters; a drawing has more that do not stand upright

type Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page: ``left, bottom, right, top`` in points, its rows, and where its columns begin."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]

    def holds(self, left: float, height: float) -> bool:
        """Whether a piece of text that begins there is in it."""
        x0, y0, x1, y1 = self.box
        return x0 - 1 <= left <= x1 and y0 - 1 <= height <= y1


def may_have_tables(page: PageObject) -> bool:
    """Whether there are lines on a page that may be a table's: pdfplumber takes 0.3 s for a page."""
    contents = page.get_contents()
    data = contents.get_data() if contents is not None else b""
    return len(data) <= MAX_PAGE_BYTES and not page.rotation and len(_STROKE.findall(data)) >= _MIN_STROKES


def find(data: bytes, numbers: Sequence[int]) -> dict[int, list[Table]]:
    """The tables on the pages ``numbers`` (from 0), from top to bottom.

    One that goes on from the page before, with columns at the same places, has its first row above it.
    """
    import pdfplumber  # takes a third of a second

    found: dict[int, list[Table]] = {}
    with pdfplumber.open(io.BytesIO(data), pages=[number + 1 for number in numbers]) as pdf:
        for page in pdf.pages:
            with suppress(Exception):  # one damaged page costs no other its tables
                found[page.page_number - 1] = list(_on_page(page))
            page.close()
    for number in numbers:
        before, here = found.get(number - 1), found.get(number)
        if before and here and before[-1].columns == here[0].columns and before[-1].rows[0] != here[0].rows[0]:
            here[0] = Table(here[0].box, (before[-1].rows[0], *here[0].rows), here[0].columns)
    return found


def markdown(table: Table) -> str:
    """The rows, as a sheet's."""
    return sheets.markdown(table.rows)


def _on_page(page: Any) -> Iterator[Table]:
    if len(page.edges) > MAX_EDGES:
        return
    turned = sum(1 for char in page.chars if not char["upright"])
    if turned > _MAX_TURNED * len(page.chars):
        return
    for table in sorted(page.find_tables(), key=lambda table: table.bbox[1]):
        rows = _rows(table)
        filled = sum(1 for row in rows for cell in row if cell)
        size = len(rows) * len(rows[0])
        is_table = len(rows) > 1 and len(rows[0]) > 1 and filled >= _MIN_FILLED * size
        if is_table and len(table.cells) >= _MIN_CELLS * size:
            x0, top, x1, bottom = table.bbox
            height = page.height + page.mediabox[1]
            lefts = sorted({round(cell[0]) for cell in table.cells})
            yield Table((x0, height - bottom, x1, height - top), rows, tuple(lefts))


def _rows(table: Any) -> tuple[tuple[str, ...], ...]:
    """The cells' words; a cell that spans several stands in each of them, so that each row can be read alone."""
    words = {
        cell: (text or "").strip()
        for row, texts in zip(table.rows, table.extract(**_READING), strict=True)
        for cell, text in zip(row.cells, texts, strict=True)
        if cell
    }
    lefts = sorted({cell[0] for cell in words})
    tops = sorted({cell[1] for cell in words})

    def at(left: float, top: float) -> str:
        for (x0, y0, x1, y1), text in words.items():
            if x0 <= left + 0.5 < x1 and y0 <= top + 0.5 < y1:
                return "" if left != lefts[0] == x0 and x1 > lefts[-1] else text  # as wide as all: said once
        return ""

    rows = ([at(left, top) for left in lefts] for top in tops)
    return tuple(tuple(one_line(cell) for cell in line) for row in rows for line in _lines(row))


def _lines(row: Sequence[str]) -> Sequence[Sequence[str]]:
    """``row``, or its lines, when a rule is drawn only below every few of them: all cells then have as many."""
    parts = [cell.split("\n") for cell in row if cell]
    counts = {len(part) for part in parts}
    if len(parts) < len(row) or len(row) < _MIN_ALIKE or len(counts) != 1 or min(counts) < _MIN_ALIKE:
        return [row]
    return list(zip(*parts, strict=True))
