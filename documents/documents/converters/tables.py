"""Rows of cells as Markdown: a table, a list of records when it is wide, and whole sheets with their header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from operator import gt

from documents.converters.output import literal, one_line
from documents.errors import Unconvertible

MAX_TABLE_COLUMNS = 8
MAX_TABLE_LINE_CHARS = 300
"""A table with more columns, or with longer lines as a rule, is written in another form.

A row of a table is quoted below its header; in more than eight columns neither people nor models find the right one.
"""
MAX_NAMES_SHARE = 0.5  # by which the names of the columns may lengthen records in which each value has its own
MAX_HEADER_CHARS = 600  # of each table that a wide one becomes: a further chunk of it begins with its header again
_MAX_KEYS = 3
_MAX_KEY_CHARS = 60  # of a row's key, in all tables but the first
_DISTINCT = 0.9

_BARE_PIPE = re.compile(r"(?<!\\)\|")

type Row = Sequence[str]


def table(header: Row, rows: Sequence[Row]) -> str:
    """Return a Markdown table. All rows are as long as ``header``; cells are Markdown without line breaks."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_BARE_PIPE.sub(r'\|', cell) for cell in row)} |" for row in lines)


def spread(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """Return the texts of cells, each in all columns (one if it is alone in its row) and rows that it covers."""
    cells: dict[tuple[int, int], str] = {}
    for y, row in enumerate(rows):
        x = 0
        for text, across, down in row:
            while (y, x) in cells:
                x += 1
            columns = range(x, x + (1 if len(row) == 1 else across))
            cells |= {(line, column): text for line in range(y, min(y + down, len(rows))) for column in columns}
            x += across
    width = 1 + max((x for _, x in cells), default=-1)
    return [[cells.get((y, x), "") for x in range(width)] for y in range(len(rows))]


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
    limits = (MAX_TABLE_COLUMNS, MAX_HEADER_CHARS, MAX_TABLE_LINE_CHARS)
    sizes = [(1, len(name), _usual_chars([[row[index]] for row in rows])) for index, name in enumerate(names)]
    group: list[int] = []
    for index in range(keys, len(names)):
        totals = map(sum, zip(*(sizes[column] for column in (*range(keys), *group, index)), strict=True))
        if group and any(map(gt, totals, limits)):
            yield group
            group = []
        group.append(index)
    yield group


def letter(index: int) -> str:
    """Return a column's name in a sheet, from 0: ``Column A``."""
    from openpyxl.utils import get_column_letter  # takes a fifth of a second

    return f"Column {get_column_letter(index + 1)}"


def _usual_chars(rows: Sequence[Row]) -> int:
    """Return the 90th percentile of the lines' lengths."""
    lengths = sorted(sum(map(len, row)) for row in rows)
    return lengths[9 * (len(lengths) - 1) // 10] if lengths else 0


MAX_CELLS = 2_000_000  # some 30 MB of text; more is data, not a document
MAX_CHARS = 32 * 1024 * 1024
MAX_ROWS = 3_000_000  # with empty ones: a file may number its second row as the thousand millionth
MAX_PLACES = 20_000_000  # with empty cells between and beside: a sheet with only its last column is mostly those
_EMPTY: list[str] = []

_NUMERIC = re.compile(r"(?:[A-Z]{3} ?)?[-+(]?[$€£¥]?\s?\d[\d.,'\s]*\s?(?:[%$€£¥]|[A-Z]{3})?\)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d\d")
_DASHES = ("-", "–", "—")  # for nothing, among figures
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_HEADER_ROWS = 3
_MAX_FORM_ROWS = 30
_MAX_FORM_COLUMNS = 3
_NEAR_ROWS = 8  # by which a header is known
_MAX_CUTS = 20  # of a block within a block
_MAX_RUNS = 50  # of filled columns side by side; more are a pattern
_ALIKE = 0.6  # of the rows of two tables side by side that are one

type Grid = Sequence[Sequence[str]]


class ShownNumber(str):
    """A number as a sheet shows it."""

    __slots__ = ()


class Bold(str):
    """Text that a sheet shows in bold letters."""

    __slots__ = ()


class Spread(str):
    """The value of a merged cell, in a further column."""

    __slots__ = ()


def sheet_markdown(rows: Grid) -> str:
    """Return the sheet as Markdown, ``""`` if it is empty. Rows may differ in length.

    Tables that empty rows or columns divide are apart; the title of one of several is a heading of level 3.
    """
    grid = [[cell and type(cell)(one_line(cell)) for cell in row] for row in rows]
    tables = [table for _, _, rows in sorted(_cut(grid, 0, 0, _MAX_CUTS)) if (table := _drop_empty(rows))]
    mark = "### " if len(tables) > 1 else ""
    return "\n\n".join(_block_markdown(table, mark) for table in tables)


def _drop_empty(rows: Grid) -> list[list[str]]:
    """Return the rows and columns with text, all rows of one length."""
    columns = _filled_columns(rows)
    return [[row[column] if column < len(row) else "" for column in columns] for row in rows if any(row)]


def _filled_columns(rows: Grid) -> list[int]:
    return sorted({column for row in rows for column, cell in enumerate(row) if cell})


def _cut(grid: Grid, top: int, left: int, cuts: int) -> Iterator[tuple[int, int, Grid]]:
    """Yield tables, each with its first row and column: cut at empty columns and rows behind which another begins."""
    if not (columns := _filled_columns(grid)):
        return
    areas = [(0, len(grid), *span) for span in _parts(grid, columns)]
    if len(areas) == 1:
        areas = [(*band, columns[0], columns[-1] + 1) for band in _bands(grid)]
    for first, end, start, stop in areas:
        block = [row[start:stop] for row in grid[first:end]]
        if len(areas) == 1 or not cuts:
            yield top + first, left + start, block
        else:
            yield from _cut(block, top + first, left + start, cuts - 1)


def _parts(grid: Grid, columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first column and the end of each table side by side."""
    gaps = [(before + 1, after) for before, after in pairwise(columns) if after - before > 1]
    spans = list(pairwise([columns[0], *chain.from_iterable(gaps), columns[-1] + 1]))[::2]
    if not 1 < len(spans) <= _MAX_RUNS:
        return [(columns[0], columns[-1] + 1)]
    parts = spans[:1]
    for start, end in spans[1:]:
        begin, middle = parts[-1]
        if _goes_right([row[begin:middle] for row in grid], [row[start:end] for row in grid]):
            parts[-1] = begin, end
        else:
            parts.append((start, end))
    return parts


def _goes_right(left: Grid, right: Grid) -> bool:
    """Return whether the columns behind an empty one belong to the same table: figures, or one filled column."""
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if _width([*one, *other]) > 1]
    common = [pair for pair in pairs if any(pair[0]) and any(pair[1])]
    if not common or len(common) < _ALIKE * len(pairs):
        return False
    return 0 in _figures(right) or any(len(_filled_columns(part)) == 1 for part in (left, right))


def _bands(grid: Grid) -> list[tuple[int, int]]:
    """Return the first row and the end of each table with the text above it, and of other texts."""
    widths = [_width(row) for row in grid]
    begins: list[int] = []
    texts: list[int] = []
    header = -1
    for start, row in _stretches(widths):
        if row < 0:
            if header < 0 or not widths[start - 1] or len(_join_cells(grid[start])) > _MAX_KEY_CHARS:
                texts.append(start)
            continue
        if header < 0 or _is_header(grid, widths, row, header):
            begins += texts if texts and row == start else [*texts, start]
            header = row
        texts = []
    return list(pairwise([*begins, *texts, len(grid)]))


def _stretches(widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where rows begin that an empty row or a text divides, and the first with several values, else -1."""
    starts = [
        number
        for number, (before, width) in enumerate(pairwise([0, *widths]))
        if width and (not before or width == 1 < before)
    ]
    for start, end in pairwise([*starts, len(widths)]):
        yield start, next((number for number in range(start, end) if widths[number] > 1), -1)


def _is_header(grid: Grid, widths: Sequence[int], row: int, header: int) -> bool:
    """Return whether ``row`` names the columns of another table than the one below ``header``."""
    above, below = (
        [grid[near] for near in range(first + 1, min(first + _NEAR_ROWS, end)) if widths[near] > 1]
        for first, end in ((header, row), (row, len(grid)))
    )
    if not below or _has_number(grid[row], below[0]):
        return False
    if any(name and name == known for name, known in zip(grid[row], grid[header], strict=False)):
        return True
    if _is_bold(grid[row]) or _is_bold(grid[header]):
        return _is_bold(grid[row])
    names = set(_filled_columns([grid[row]]))
    return bool(
        names & (_figures(below) | _figures(above)) or names.difference(_filled_columns([grid[header], *above]))
    )


def _is_bold(row: Row) -> bool:
    return {type(cell) for cell in row if cell} <= {Bold, Spread}


def _figures(rows: Grid) -> set[int]:
    """Return the columns in which most of the cells are figures."""
    counts: Counter[int] = Counter()
    for row in rows:
        for column, cell in enumerate(row):
            if cell:
                counts[column] += 1 if cell in _DASHES or _is_figure(cell) else -1
    return {column for column, count in counts.items() if count > 0}


def _width(row: Row) -> int:
    """Count the filled cells of a row, a merged one once."""
    return len([cell for cell in row if cell and type(cell) is not Spread])


def _block_markdown(grid: list[list[str]], title_mark: str) -> str:
    if all(_width(row) < 2 for row in grid):
        lines = [literal(_join_cells(row)) for row in grid]
        return "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else lines[0]
    first = _header_row(grid)
    notes = [literal(_join_cells(row)) for row in grid[:first]]
    if notes and len(notes[0]) <= _MAX_KEY_CHARS:
        notes[0] = title_mark + notes[0]
    grid = _drop_empty(grid[first:])  # the merged cells of a title may reach beyond its table
    if _is_form(grid):
        return "\n\n".join([*notes, "\n".join(_pairs(grid))])
    header, begin = _header(grid)
    rest = grid[begin:]
    return "\n\n".join([*notes, records(header, rest) if rest else literal(_join_cells(header))])


def _is_form(grid: Sequence[Row]) -> bool:
    """Return whether the rows are labels with values, without names of columns."""
    if all(next(filter(None, row)).endswith(":") for row in grid):
        return True
    labels, values = [row[0] for row in grid], [row[1] for row in grid]
    if len({*filter(None, labels)}) < len(grid) or any(map(_is_figure, labels)) or len(grid[0]) > _MAX_FORM_COLUMNS:
        return False
    if len(grid) == 1 or _has_number(grid[0], grid[1]):
        return True
    bold = [isinstance(cell, Bold) for cell in (labels[0], values[0], labels[-1], values[-1])]
    if any(bold):
        return bold == [True, False, True, False]
    return len(grid[0]) == 2 and len(grid) <= _MAX_FORM_ROWS and _is_mixed(values)


def _is_mixed(values: Row) -> bool:
    """Return whether the values are of several kinds: text with a few figures, or dates with numbers."""
    figures = [value for value in values[1:] if _is_figure(value)]
    moments = [value for value in figures if _MOMENT.match(value)]
    return 0 < 2 * len(figures) < len(values) or 0 < len(moments) < len(figures)


def _pairs(grid: Sequence[Row]) -> Iterator[str]:
    for row in grid:
        pair: list[str] = []
        for cell in row:
            if not cell or isinstance(cell, Spread):
                continue
            if len(pair) > 1 and cell.endswith(":"):
                yield f"- {pair[0].rstrip(': ')}: {'; '.join(pair[1:])}"
                pair = []
            pair.append(cell)
        yield f"- {pair[0].rstrip(': ')}: {'; '.join(pair[1:])}".rstrip()


@dataclass
class Budget:
    """The limits left for one file, all its sheets together."""

    cells: int = MAX_CELLS
    chars: int = MAX_CHARS
    rows: int = MAX_ROWS
    places: int = MAX_PLACES

    def limit(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows without the empty cells at their ends; raise ``Unconvertible`` at the first limit."""
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
            yield row or _EMPTY

    def count_places(self, places: int) -> None:
        """Count the cells looked at, filled or empty; raise ``Unconvertible`` if there are too many."""
        self.places -= places
        if self.places < 0:
            raise Unconvertible(f"spans more than {MAX_PLACES:,} cells, empty ones too: delete empty rows and columns")


def _header_row(grid: Sequence[Row]) -> int:
    """Return the first row as wide as the table below; a title above it has fewer cells."""
    filled = sorted(sum(map(bool, row)) for row in grid)
    usual = filled[len(filled) // 2]
    several = [index for index, row in enumerate(grid) if len({*row, ""}) > 2]
    wide = (index for index in several if sum(map(bool, grid[index])) >= max(2, usual // 2 + 1))
    return next(chain(wide, several), 0)


def _header(grid: Sequence[Row]) -> tuple[Row, int]:
    """Return the names of the columns, and the row at which the records begin."""
    row = grid[0]
    if len(grid) == 1 or _has_number(row, grid[1]):  # no header
        return [letter(index) for index in range(len(row))], 0
    begin = 1  # repeated names, as merged cells have, go on in the row below
    while _repeats(row) and begin + 1 < len(grid) and begin < _MAX_HEADER_ROWS and not _has_number(grid[begin]):
        row = [_join_cells(pair) for pair in zip(row, grid[begin], strict=True)]
        begin += 1
    return row, begin


def _has_number(row: Row, below: Row = ()) -> bool:
    """Return whether a row is no header: it has a number, or a date or time above another."""
    pairs = zip_longest(row, below, fillvalue="")
    return any(_is_figure(cell) and (not _MOMENT.match(cell) or _MOMENT.match(other)) for cell, other in pairs)


def _is_figure(cell: str) -> bool:
    if _YEAR.fullmatch(cell):
        return False
    return isinstance(cell, ShownNumber) or bool(_NUMERIC.fullmatch(cell) or _MOMENT.match(cell))


def _repeats(row: Row) -> bool:
    return len({*filter(None, row)}) < sum(map(bool, row))


def _join_cells(row: Row) -> str:
    return " ".join(dict.fromkeys(filter(None, row)))
