"""The rows of a sheet as Markdown: what stands above a table, its header, and its records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.converters.output import Unconvertible, literal, one_line
from documents.converters.tables import letter, records

MAX_CELLS = 2_000_000
"""More are not read: some 30 MB of text, which no question about a document is asked of."""
MAX_CHARS = 32 * 1024 * 1024
MAX_ROWS = 3_000_000
"""Empty ones too: a file may say that its second row is the thousand millionth."""
MAX_PLACES = 20_000_000
"""Cells with the empty ones between and beside them: a sheet that has only its last column filled is mostly those."""

_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d.,'\s]*\s?[%$€£¥]?\)?|\d{4}-\d\d-\d\d.*|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}.*")
_MAX_HEADER_ROW = 10  # a header further down is none
_MAX_HEADER_ROWS = 3

type Row = Sequence[str]


def markdown(rows: Sequence[Row]) -> str:
    """The sheet as Markdown, ``""`` when it is empty. Rows may differ in length."""
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    if not kept:
        return ""
    grid = _filled_columns(kept)
    if len(grid[0]) == 1:
        return "\n".join(f"- {literal(cell)}" for (cell,) in grid)
    first = _header_row(grid)
    notes = [literal(_joined(row)) for row in grid[:first]]
    grid = _filled_columns(grid[first:])  # the merged cells of a title may reach beyond its table
    header, begin = _header(grid)
    rest = grid[begin:]
    return "\n\n".join([*notes, records(header, rest) if rest else literal(_joined(header))])


def _filled_columns(rows: Sequence[Row]) -> list[list[str]]:
    width = max(map(len, rows))
    filled = [column for column in range(width) if any(column < len(row) and row[column].strip() for row in rows)]
    return [[one_line(row[column]) if column < len(row) else "" for column in filled] for row in rows]


@dataclass
class Budget:
    """What may still be read of one file, all its sheets together."""

    cells: int = MAX_CELLS
    chars: int = MAX_CHARS
    rows: int = MAX_ROWS
    places: int = MAX_PLACES

    def bounded(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """``rows`` that hold something, without the empty cells at their ends.

        Raises:
            Unconvertible: there are too many cells, places or characters; no further row is then read.
        """
        for row in rows:
            self.look(len(row))
            self.rows -= 1
            if self.rows < 0:
                raise Unconvertible(f"has more than {MAX_ROWS:,} rows, empty ones too: delete those or split it")
            while row and not row[-1].strip():
                row.pop()
            self.cells -= len(row)
            if self.cells < 0:
                raise Unconvertible(f"holds more than {MAX_CELLS:,} cells: split it")
            self.chars -= sum(map(len, row))
            if self.chars < 0:
                raise Unconvertible(f"holds more than {MAX_CHARS >> 20} MiB of text: split it")
            if row:
                yield row

    def look(self, places: int) -> None:
        """Count ``places`` that are looked at, filled or not; Unconvertible when there were too many."""
        self.places -= places
        if self.places < 0:
            raise Unconvertible(f"spans more than {MAX_PLACES:,} cells, empty ones too: delete empty rows and columns")


def _header_row(grid: Sequence[Row]) -> int:
    """The first row that goes as far as the table below: what is above it has fewer cells, as a title does."""
    widths = sorted(sum(map(bool, row)) for row in grid)
    usual = widths[len(widths) // 2]
    for index, row in enumerate(grid[:_MAX_HEADER_ROW]):
        if len(set(filter(None, row))) > 1 and sum(map(bool, row)) >= max(2, usual // 2 + 1):
            return index
    return 0


def _header(grid: Sequence[Row]) -> tuple[Row, int]:
    """The names of the columns, and the row at which the records begin.

    A row with a number in it is no header: the columns then have their letters. One that says the same twice, as merged
    cells do, goes on in the row below.
    """
    row = grid[0]
    if _numeric(row) or len(grid) == 1:
        return [letter(index) for index in range(len(row))], 0
    begin = 1
    while _repeats(row) and begin + 1 < len(grid) and begin < _MAX_HEADER_ROWS and not _numeric(grid[begin]):
        row = [_joined(pair) for pair in zip(row, grid[begin], strict=True)]
        begin += 1
    return row, begin


def _numeric(row: Row) -> bool:
    return any(_NUMBER.fullmatch(cell) for cell in row if not _year(cell))


def _repeats(row: Row) -> bool:
    filled = [cell for cell in row if cell]
    return len(set(filled)) < len(filled)


def _year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdigit() and cell[:2] in ("19", "20")


def _joined(row: Row) -> str:
    return " ".join(dict.fromkeys(filter(None, row)))
