"""Rows of cells as Markdown in which each row is one line: a table, or a list of records when it is wide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from documents.converters.output import one_line

MAX_TABLE_COLUMNS = 8
MAX_TABLE_LINE_CHARS = 300
"""A table with more columns, or with longer lines as a rule, is written record by record: ``Name: Ada; Age: 36``.

A row of a table is quoted below its header; in more than eight columns nobody, and no model, counts to the right one.
"""

_BARE_PIPE = re.compile(r"(?<!\\)\|")

type Row = Sequence[str]


def table(header: Row, rows: Sequence[Row]) -> str:
    """``rows`` as a Markdown table below ``header``, all of one length, the cells as Markdown without line breaks."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(_line(row) for row in lines)


def records(header: Row, rows: Sequence[Row]) -> str:
    """``rows`` as a table, or each as an item that names its columns and leaves out the empty ones; plain text cells.

    A column without a name has its letter, as in a sheet.
    """
    names = [one_line(name) or letter(index) for index, name in enumerate(header)]
    cells = [[one_line(cell) for cell in row] for row in rows]
    if len(names) <= MAX_TABLE_COLUMNS and _usual_chars(cells) <= MAX_TABLE_LINE_CHARS:
        return table(names, cells)
    return "\n".join(f"- {'; '.join(_named(names, row))}" for row in cells if any(row))


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
