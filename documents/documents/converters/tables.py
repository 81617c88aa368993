"""Rows of cells as Markdown in which each row is one line: a table, or a list of records when it is wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from documents.converters.output import one_line

MAX_TABLE_COLUMNS = 8
MAX_TABLE_LINE_CHARS = 300
"""A table with more columns, or with longer lines as a rule, is written in another form.

A row of a table is quoted below its header; in more than eight columns nobody, and no model, counts to the right one.
"""
MAX_NAMES_SHARE = 0.5
"""How much longer the names of the columns may make the records in which each value has its own."""
MAX_HEADER_CHARS = 600
"""Of each of the tables that a wide one becomes: a chunk that goes on with a table begins with its header again."""
_MAX_KEYS = 3
_MAX_KEY_CHARS = 60  # of what tells a row, in all tables but the first
_DISTINCT = 0.9

_BARE_PIPE = re.compile(r"(?<!\\)\|")

type Row = Sequence[str]


def table(header: Row, rows: Sequence[Row]) -> str:
    """``rows`` as a Markdown table below ``header``, all of one length, the cells as Markdown without line breaks."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(_line(row) for row in lines)


def records(header: Row, rows: Sequence[Row]) -> str:
    """``rows`` of plain text cells as a table, or what a wide one becomes; a column without a name has its letter.

    That is an item for each row that names its columns and leaves out the empty ones (``Name: Ada; Age: 36``). Where
    the names would be much of it, it is a table for each few columns, with those that tell the row in each.
    """
    names = [one_line(name) or letter(index) for index, name in enumerate(header)]
    cells = [[one_line(cell) for cell in row] for row in rows]
    if len(names) <= MAX_TABLE_COLUMNS and _usual_chars(cells) <= MAX_TABLE_LINE_CHARS:
        return table(names, cells)
    filled = [(name, cell) for row in cells for name, cell in zip(names, row, strict=True) if cell]
    if sum(len(name) for name, _ in filled) <= MAX_NAMES_SHARE * sum(len(cell) for _, cell in filled):
        return "\n".join(f"- {'; '.join(_named(names, row))}" for row in cells if any(row))
    return "\n\n".join(_tables(names, cells))


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
    """How many of the first columns tell a row: up to the first with short words that differ from row to row."""
    for index in range(min(_MAX_KEYS, len(rows[0]))):
        if _usual_chars([[row[index]] for row in rows]) > _MAX_KEY_CHARS:
            break
        values = {row[index] for row in rows if any(map(str.isalpha, row[index]))}
        if len(values) >= _DISTINCT * len(rows):
            return index + 1
    return 1


def _groups(names: Row, rows: Sequence[Row], keys: int) -> Iterator[list[int]]:
    """The other columns, in order, so many at a time as make a table that is not wide."""
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
    """The name that a sheet gives a column, from 0: ``Column A``."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return f"Column {name}"


def _line(row: Row) -> str:
    return f"| {' | '.join(_BARE_PIPE.sub(r'\|', cell) for cell in row)} |"


def _named(names: Row, row: Row) -> Iterator[str]:
    return (f"{name}: {cell}" for name, cell in zip(names, row, strict=True) if cell)


def _usual_chars(rows: Sequence[Row]) -> int:
    """How long nine of ten lines are at most."""
    lengths = sorted(sum(map(len, row)) for row in rows)
    return lengths[9 * (len(lengths) - 1) // 10] if lengths else 0
