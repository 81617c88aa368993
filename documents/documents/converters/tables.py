"""Rows of cells as Markdown: a table, a list of records when it is wide, and whole sheets with their header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, zip_longest
from operator import or_

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


_EMPTY: list[str] = []

MAX_CELLS = 2_000_000
"""Some 30 MB of text; more is data, not a document."""
MAX_CHARS = 32 * 1024 * 1024
MAX_ROWS = 3_000_000
"""With empty ones: a file may number its second row as the thousand millionth."""
MAX_PLACES = 20_000_000
"""Cells with the empty ones between and beside them: a sheet that has only its last column filled is mostly those."""

_NUMERIC = re.compile(r"(?:[A-Z]{3} ?)?[-+(]?[$€£¥]?\s?\d[\d.,'\s]*\s?(?:[%$€£¥]|[A-Z]{3})?\)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_HEADER_ROW = 10  # a header further down is none
_MAX_HEADER_ROWS = 3
_MAX_FORM_ROWS = 30
_MAX_PAIR_COLUMNS = 3
_NEAR_ROWS = 8  # by which a header is known
_MAX_CUTS = 20  # of a block within a block
_MAX_RUNS = 50  # of filled columns side by side; more are a pattern
_MOST = 0.6

type Block = tuple[int, int, int]
"""First row, last row + 1, and the columns as bits, from 0."""


class Figure(str):
    """A number as a sheet shows it."""

    __slots__ = ()


class Bold(str):
    """Text that a sheet shows in bold letters."""

    __slots__ = ()


class Spread(str):
    """The value of a merged cell, in a further column."""

    __slots__ = ()


def sheet_markdown(rows: Sequence[Row], tables: Sequence[Block] = (), spacers: int = 0) -> str:
    """Return the sheet as Markdown, ``""`` if it is empty. Rows may differ in length.

    Tables that empty rows or columns divide are apart. ``tables`` are known ones; ``spacers`` are columns, as bits that
    divide nothing.
    """
    bits = [int(f"0{''.join('01'[bool(cell.strip())] for cell in reversed(row))}", 2) for row in rows]
    blocks = list(tables)
    for top, bottom, columns in tables:
        bits[top:bottom] = [line & ~columns for line in bits[top:bottom]]
    blocks += _Cutter(rows, bits, spacers).cut(0, len(rows), -1, _MAX_CUTS)
    parts = []
    for top, bottom, columns in sorted(blocks, key=lambda block: (block[0], block[2] & -block[2])):
        places = _places(columns)
        grid = [[_clean(row[index]) if index < len(row) else "" for index in places] for row in rows[top:bottom]]
        if grid := [row for row in grid if any(row)]:
            parts.append(_block_markdown(grid))
    return "\n\n".join(filter(None, parts))


def _places(bits: int) -> list[int]:
    return [place for place, bit in enumerate(f"{bits:b}"[::-1]) if bit == "1"]


@dataclass
class _Cutter:
    """A sheet that is cut at empty columns and rows, unless a table goes on behind them."""

    rows: Sequence[Row]
    bits: Sequence[int]
    spacers: int

    def cut(self, top: int, bottom: int, window: int, cuts: int) -> Iterator[Block]:
        """Yield the blocks of some rows and of the columns in ``window``."""
        filled = [number for number in range(top, bottom) if self.bits[number] & window]
        if not filled:
            return
        columns = reduce(or_, (self.bits[number] for number in filled)) & window
        parts = self._parts(filled, columns, f"{columns | self.spacers & window:b}"[::-1])
        bands = [(filled[0], filled[-1] + 1)] if len(parts) > 1 else list(self._bands(filled, columns))
        if not cuts or len(parts) == len(bands) == 1:
            yield filled[0], filled[-1] + 1, columns
            return
        for first, end in bands:
            for part in parts:
                yield from self.cut(first, end, part, cuts - 1)

    def _parts(self, filled: Sequence[int], columns: int, places: str) -> list[int]:
        """Return the columns of each table side by side, of a text of bits."""
        runs = list(re.finditer("1+", places))
        parts: list[int] = []
        for run in runs if len(runs) <= _MAX_RUNS else ():
            part = (1 << run.end()) - (1 << run.start()) & columns
            if part and parts and self._goes_right(filled, parts[-1], part):
                parts[-1] |= part
            elif part:
                parts.append(part)
        return parts or [columns]

    def _goes_right(self, filled: Sequence[int], left: int, right: int) -> bool:
        """Return whether the columns behind an empty one belong to the same table: figures, or one filled column."""
        at_left, at_right = ([number for number in filled if self.bits[number] & part] for part in (left, right))
        if at_right[-1] < at_left[0] or at_left[-1] < at_right[0]:
            return False
        several = sum(not self._is_single(number, left | right) for number in filled)
        common = {*at_left} & {*at_right}
        alike = len(common) >= _MOST * several
        if common and self._figures(at_right, right & -right):
            names, others = ({*self._cells(min(common), part)} for part in (left, right))
            return alike and not others <= names
        return left.bit_count() == 1 or (right.bit_count() == 1 and alike)

    def _bands(self, filled: Sequence[int], columns: int) -> Iterator[tuple[int, int]]:
        """Yield the first row and the end of each table and of each text between tables."""
        starts = [
            number
            for number, before in zip(filled, [-2, *filled], strict=False)
            if number - before > 1 or (self._is_single(number, columns) and not self._is_single(before, columns))
        ]
        begins: list[int] = []
        header, texts = -1, 0
        for start, end in pairwise([*starts, filled[-1] + 1]):
            several = (
                row for row in range(start, end) if self.bits[row] & columns and not self._is_single(row, columns)
            )
            row = next(several, -1)
            if row < 0:
                (words, *_) = self._cells(start, columns)
                if header < 0 or not self.bits[start - 1] & columns or len(words) > _MAX_KEY_CHARS:
                    begins.append(start)
                    texts += header >= 0
            elif header < 0 or self._is_header(row, header, columns):
                begins.append(start)
                header, texts = row, 0
            else:
                del begins[len(begins) - texts :]
                texts = 0
        return pairwise([*begins, filled[-1] + 1])

    def _is_header(self, row: int, header: int, columns: int) -> bool:
        """Return whether ``row`` names the columns of another table than the one below ``header``."""
        below, above = (self._near(number, number + _NEAR_ROWS, columns) for number in (row, header))
        below_figures, names = self._figures(below, columns), self.bits[row] & columns
        if self._figures([row], columns) & below_figures or (not below and self._figures([row], columns)):
            return False
        if any(_is_figure(cell) and not _MOMENT.match(cell) for cell in self._cells(row, columns)):
            return False
        if self._is_bold(row, columns) or self._is_bold(header, columns):
            return self._is_bold(row, columns)
        if names & (below_figures | (self._figures(above, columns) if below else 0)):
            return True
        known = self._shapes([header, *above], columns)
        return bool(names & ~reduce(or_, known)) or (self._shapes(below, columns) == {names} and names < min(known))

    def _is_bold(self, number: int, columns: int) -> bool:
        return {type(cell) for cell in self._cells(number, columns)} <= {Bold, Spread}

    def _shapes(self, rows: Sequence[int], columns: int) -> set[int]:
        return {self.bits[number] & columns for number in rows}

    def _figures(self, rows: Sequence[int], columns: int) -> int:
        """Return the columns, as bits, in which most of the cells are figures."""
        counts: Counter[int] = Counter()
        for number in rows:
            for column in _places(self.bits[number] & columns):
                counts[column] += 1 if _is_figure(self.rows[number][column]) else -1
        return sum(1 << column for column, count in counts.items() if count > 0)

    def _near(self, number: int, end: int, columns: int) -> list[int]:
        """Return the next rows with several values, up to one without."""
        near: list[int] = []
        for row in range(number + 1, min(end, len(self.rows))):
            if self.bits[row] & columns and not self._is_single(row, columns):
                near.append(row)
            elif near:
                break
        return near

    def _cells(self, number: int, columns: int) -> list[str]:
        return [self.rows[number][place] for place in _places(self.bits[number] & columns)]

    def _is_single(self, number: int, columns: int) -> bool:
        return number >= 0 and sum(not isinstance(cell, Spread) for cell in self._cells(number, columns)) < 2


def _clean(cell: str) -> str:
    return type(cell)(one_line(cell))


def _block_markdown(grid: list[list[str]]) -> str:
    texts = [[cell for cell in row if cell and not isinstance(cell, Spread)] for row in grid]
    if all(len(row) < 2 for row in texts):
        lines = [literal(cell) for row in texts for cell in row]
        return "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)
    first = _header_row(grid)
    notes = [literal(_join_cells(row)) for row in grid[:first]]
    grid = _drop_empty_columns(grid[first:])  # the merged cells of a title may reach beyond its table
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
    if len({*filter(None, labels)}) < len(grid) or any(map(_is_figure, labels)) or len(grid[0]) > _MAX_PAIR_COLUMNS:
        return False
    if len(grid) == 1 or _has_number(grid[0], grid[1]):
        return True
    bold = [isinstance(cell, Bold) for cell in (labels[0], values[0], labels[-1], values[-1])]
    if any(bold):
        return bold == [True, False, True, False]
    figures = sum(map(_is_figure, values[1:]))
    return len(grid[0]) == 2 and len(grid) <= _MAX_FORM_ROWS and 0 < 2 * figures < len(values)


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


def _drop_empty_columns(rows: Sequence[Row]) -> list[list[str]]:
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
    return [[row[column] for column in filled] for row in rows]


@dataclass
class Budget:
    """The limits left for one file, all its sheets together."""

    cells: int = MAX_CELLS
    chars: int = MAX_CHARS
    rows: int = MAX_ROWS
    places: int = MAX_PLACES

    def limit(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows without the empty cells at their ends.

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
            yield row or _EMPTY

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
    if len(grid) == 1 or _has_number(row, grid[1]):
        return [letter(index) for index in range(len(row))], 0
    begin = 1
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
    return isinstance(cell, Figure) or bool(_NUMERIC.fullmatch(cell) or _MOMENT.match(cell))


def _repeats(row: Row) -> bool:
    filled = [cell for cell in row if cell]
    return len(set(filled)) < len(filled)


def _join_cells(row: Row) -> str:
    return " ".join(dict.fromkeys(filter(None, row)))
