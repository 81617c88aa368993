"""Rows of cells as Markdown: a table, a list of records when it is wide, and whole sheets with their header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from documents.converters.output import literal, one_line
from documents.errors import Unconvertible

MAX_TABLE_COLUMNS = 8
MAX_TABLE_LINE_CHARS = 300
"""A table with more columns, or with longer lines as a rule, is written in another form.

A row of a table is quoted below its header; in more than eight columns neither people nor models find the right one.
"""
MAX_NAMES_SHARE = 0.5
"""How much longer the names of the columns may make the records in which each value has its own."""
MAX_HEADER_CHARS = 600
"""Of each of the tables that a wide one becomes: a chunk that goes on with a table begins with its header again."""
_MAX_KEYS = 3
_MAX_KEY_CHARS = 60  # of a row's key, in all tables but the first
_DISTINCT = 0.9

_BARE_PIPE = re.compile(r"(?<!\\)\|")

type Row = Sequence[str]


def table(header: Row, rows: Sequence[Row]) -> str:
    """Return a Markdown table. All rows are as long as ``header``; cells are Markdown without line breaks."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_BARE_PIPE.sub(r'\|', cell) for cell in row)} |" for row in lines)


def records(header: Row, rows: Sequence[Row]) -> str:
    """Return rows of plain text cells as a table, or as records or several tables if it is wide.

    A record is an item that names its columns and leaves out the empty ones (``Name: Ada; Age: 36``). If the names
    would be much of the text, each few columns become a table, with the key columns in each. An unnamed column gets its
    letter.
    """
    names = [one_line(name) or letter(index) for index, name in enumerate(header)]
    cells = [[one_line(cell) for cell in row] for row in rows]
    if len(names) <= MAX_TABLE_COLUMNS and _usual_chars(cells) <= MAX_TABLE_LINE_CHARS:
        return table(names, cells)
    filled = [(name, cell) for row in cells for name, cell in zip(names, row, strict=True) if cell]
    if sum(len(name) for name, _ in filled) <= MAX_NAMES_SHARE * sum(len(cell) for _, cell in filled):
        return "\n".join(f"- {'; '.join(_record(names, row))}" for row in cells if any(row))
    return "\n\n".join(_tables(names, cells))


def _record(names: Row, row: Row) -> Iterator[str]:
    return (f"{name}: {cell}" for name, cell in zip(names, row, strict=True) if cell)


def _tables(names: Row, rows: Sequence[Row]) -> Iterator[str]:
    keys = _keys(rows)
    beginnings = [[cell[: _MAX_KEY_CHARS // keys] for cell in row[:keys]] for row in rows]
    for columns in _groups(names, rows, keys):
        first = columns[:1] == [keys]
        shown = [
            [*(row[:keys] if first else beginning), *(row[index] for index in columns)]
            for row, beginning in zip(rows, beginnings, strict=True)
            if first or any(row[index] for index in columns)
        ]
        yield table([*names[:keys], *(names[index] for index in columns)], shown)


def _keys(rows: Sequence[Row]) -> int:
    """Count the first columns that identify a row: up to the first with short words that differ from row to row."""
    for index in range(min(_MAX_KEYS, len(rows[0]))):
        if _usual_chars([[row[index]] for row in rows]) > _MAX_KEY_CHARS:
            break
        values = {row[index] for row in rows if any(map(str.isalpha, row[index]))}
        if len(values) >= _DISTINCT * len(rows):
            return index + 1
    return 1


def _groups(names: Row, rows: Sequence[Row], keys: int) -> Iterator[list[int]]:
    """Yield the other columns in order, in groups that make tables that are not wide."""
    usual = [_usual_chars([[row[index]] for row in rows]) for index in range(len(names))]

    def is_wide(columns: list[int]) -> bool:
        header, line = (sum(lengths[index] for index in columns) for lengths in (list(map(len, names)), usual))
        return len(columns) > MAX_TABLE_COLUMNS or header > MAX_HEADER_CHARS or line > MAX_TABLE_LINE_CHARS

    group: list[int] = []
    for index in range(keys, len(names)):
        if group and is_wide([*range(keys), *group, index]):
            yield group
            group = []
        group.append(index)
    yield group


def letter(index: int) -> str:
    """Return a column's name in a sheet, from 0: ``Column A``."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return f"Column {name}"


def _usual_chars(rows: Sequence[Row]) -> int:
    """Return the 90th percentile of the lines' lengths."""
    lengths = sorted(sum(map(len, row)) for row in rows)
    return lengths[9 * (len(lengths) - 1) // 10] if lengths else 0


MAX_CELLS = 2_000_000
"""Some 30 MB of text; more is data, not a document."""
MAX_CHARS = 32 * 1024 * 1024
MAX_ROWS = 3_000_000
"""With empty ones: a file may number its second row as the thousand millionth."""
MAX_PLACES = 20_000_000
"""Cells with the empty ones between and beside them: a sheet that has only its last column filled is mostly those."""

_NUMERIC = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d.,'\s]*\s?[%$€£¥]?\)?|\d{4}-\d\d-\d\d.*|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}.*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_HEADER_ROW = 10  # a header further down is none
_MAX_HEADER_ROWS = 3


def sheet_markdown(rows: Sequence[Row]) -> str:
    """Return the sheet as Markdown, ``""`` if it is empty. Rows may differ in length."""
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    if not kept:
        return ""
    grid = _drop_empty_columns(kept)
    if len(grid[0]) == 1:
        return "\n".join(f"- {literal(cell)}" for (cell,) in grid)
    first = _header_row(grid)
    notes = [literal(_join_cells(row)) for row in grid[:first]]
    grid = _drop_empty_columns(grid[first:])  # the merged cells of a title may reach beyond its table
    header, begin = _header(grid)
    rest = grid[begin:]
    return "\n\n".join([*notes, records(header, rest) if rest else literal(_join_cells(header))])


def _drop_empty_columns(rows: Sequence[Row]) -> list[list[str]]:
    width = max(map(len, rows))
    filled = [column for column in range(width) if any(column < len(row) and row[column].strip() for row in rows)]
    return [[one_line(row[column]) if column < len(row) else "" for column in filled] for row in rows]


@dataclass
class Budget:
    """The limits left for one file, all its sheets together."""

    cells: int = MAX_CELLS
    chars: int = MAX_CHARS
    rows: int = MAX_ROWS
    places: int = MAX_PLACES

    def limit(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows with text, without the empty cells at their ends.

        Raises:
            Unconvertible: there are too many cells, places or characters; no further row is read then.
        """
        for row in rows:
            self.count_places(len(row))
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

    def count_places(self, places: int) -> None:
        """Count the cells looked at, filled or empty.

        Raises:
            Unconvertible: there are too many.
        """
        self.places -= places
        if self.places < 0:
            raise Unconvertible(f"spans more than {MAX_PLACES:,} cells, empty ones too: delete empty rows and columns")


def _header_row(grid: Sequence[Row]) -> int:
    """Return the first row as wide as the table below; a title above it has fewer cells."""
    widths = sorted(sum(map(bool, row)) for row in grid)
    usual = widths[len(widths) // 2]
    for index, row in enumerate(grid[:_MAX_HEADER_ROW]):
        if len(set(filter(None, row))) > 1 and sum(map(bool, row)) >= max(2, usual // 2 + 1):
            return index
    return 0


def _header(grid: Sequence[Row]) -> tuple[Row, int]:
    """Return the names of the columns, and the row at which the records begin.

    A row with a number is not a header: the columns then have letters. A row with repeated names, as merged cells have,
    continues in the row below.
    """
    row = grid[0]
    if _has_number(row) or len(grid) == 1:
        return [letter(index) for index in range(len(row))], 0
    begin = 1
    while _repeats(row) and begin + 1 < len(grid) and begin < _MAX_HEADER_ROWS and not _has_number(grid[begin]):
        row = [_join_cells(pair) for pair in zip(row, grid[begin], strict=True)]
        begin += 1
    return row, begin


def _has_number(row: Row) -> bool:
    return any(_NUMERIC.fullmatch(cell) for cell in row if not _YEAR.fullmatch(cell))


def _repeats(row: Row) -> bool:
    filled = [cell for cell in row if cell]
    return len(set(filled)) < len(filled)


def _join_cells(row: Row) -> str:
    return " ".join(dict.fromkeys(filter(None, row)))
