"""Lines of a PDF page by position: cells on one baseline, columns read down, tables without rules."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from documents.converters.pdf_layout import Cell, Line
from documents.converters.pdf_text import CELL_GAP, Piece

_SAME_BASELINE = 0.2  # of the letters' size
_RAISED = 0.6  # a footnote's mark or an index stands as much higher or lower, beside its word
_NO_SPACE = 0.15
_MIN_COLUMN_LINES = 5
_MIN_COLUMN_CHARS = 20
_MIN_FILL = 0.7  # of a column's width; the cells of a table have less
_MIN_TABLE_LINES = 3
_MAX_INDENT = 2.0  # points
_MAX_LINE_GAP = 3.0  # of the letters' size, in a table

_MARK = re.compile(r"(?:\W+|\(?(?:\d{1,3}|[a-z]|[ivx]+)[.)])\s*", re.IGNORECASE)  # of a list, before its item


def read_lines(pieces: Sequence[Piece], page: int) -> list[Line]:
    """Return the lines of ``pieces`` in the order of reading: the file's, but two columns drawn across one by one."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if groups and _is_beside(groups[-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return _read_down(_join_columns([_line(group, page) for group in groups]))


def _join_columns(lines: Sequence[Line]) -> list[Line]:
    """Return ``lines`` with the rows of a table that was drawn column by column: short cells, half of them figures."""
    joined: list[Line] = []
    rest = list(lines)
    while rest:
        beside = [
            n for n, row in enumerate(joined) if _is_level(row, rest[0]) and row.cells[-1][1] < rest[0].cells[0][0]
        ]
        rows = joined[beside[-1] :] if beside else []
        column = rest[: len(rows)]
        texts = [line.text for line in column]
        if (
            len(rows) >= _MIN_TABLE_LINES
            and len(rows) == len(column)
            and all(map(_is_level, rows, column))
            and statistics.median(map(len, texts)) < _MIN_COLUMN_CHARS
            and 2 * sum(any(map(str.isdigit, text)) for text in texts) >= len(texts)
        ):
            joined[-len(rows) :] = [
                replace(row, cells=row.cells + line.cells) for row, line in zip(rows, column, strict=True)
            ]
            rest = rest[len(rows) :]
        else:
            joined.append(rest.pop(0))
    return joined


def _is_level(line: Line, other: Line) -> bool:
    return abs(line.height - other.height) <= _SAME_BASELINE * max(line.size, other.size)


def _is_beside(group: Sequence[Piece], piece: Piece) -> bool:
    main = max(group, key=lambda one: one.size)
    size, shift = max(main.size, piece.size), abs(main.height - piece.height)
    gap = max(piece.left - group[-1].right, group[-1].left - piece.right)
    near = shift <= _SAME_BASELINE * size or (shift <= _RAISED * size and abs(gap) < CELL_GAP * size)
    return main.turn == piece.turn and near


def _line(group: Sequence[Piece], page: int) -> Line:
    cells: list[list[Piece]] = [[group[0]]]
    sizes: Counter[float] = Counter()
    for before, piece in pairwise([group[0], *group]):
        gap = max(piece.left - before.right, before.left - piece.right)
        if gap > CELL_GAP * max(piece.size, before.size):
            cells.append([piece])
        elif before is not piece:
            cells[-1].append(piece)
        sizes[round(2 * piece.size) / 2] += len(piece.text.strip())
    if len(cells) == 2 and _MARK.fullmatch("".join(piece.text for piece in cells[0])):
        cells = [cells[0] + cells[1]]
    main = max(group, key=lambda one: one.size)
    # Text that runs up the margin, such as arXiv's stamp, is no heading, however large.
    size = 0.0 if main.turn else sizes.most_common(1)[0][0]
    return Line(tuple(sorted(map(_cell, cells))), page, main.height, size)


def _cell(pieces: Sequence[Piece]) -> Cell:
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        is_raised = abs(before.height - piece.height) > _SAME_BASELINE * min(before.size, piece.size)
        is_close = abs(piece.left - before.right) < _NO_SPACE * max(before.size, piece.size)
        text = (text.rstrip() if is_raised and is_close else text) + piece.text
    return min(one.left for one in pieces), max(one.right for one in pieces), " ".join(text.split())


def _read_down(lines: Sequence[Line]) -> list[Line]:
    """Return ``lines`` with the left column before the right one, wherever two columns were drawn across.

    Columns have a gutter in at least five lines and are filled by text on both sides, unlike the cells of a table.
    """
    gutter = _find_gutter(lines)
    both = [halves for line in lines if all(halves := _split(line, gutter))]
    if len(both) < _MIN_COLUMN_LINES or not all(map(_is_prose, zip(*both, strict=True))):
        return list(lines)
    read: list[Line] = []
    by_height = sorted(lines, key=lambda line: -line.height)
    for is_parted, run in groupby(by_height, key=lambda line: any(_split(line, gutter))):
        block = list(run)
        if not is_parted:
            read += block
            continue
        for side in (0, 1):
            column = (replace(line, cells=_split(line, gutter)[side]) for line in block)
            read += _read_down([line for line in column if line.cells])
    return read


def _find_gutter(lines: Sequence[Line]) -> int:
    """Return the place that is in a gap of the most lines."""
    gaps = [(before[1], after[0]) for line in lines for before, after in pairwise(line.cells)]
    middles = sorted({round((left + right) / 2) for left, right in gaps})
    return max(middles, key=lambda x: sum(left < x < right for left, right in gaps), default=0)


def _split(line: Line, gutter: float) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    if any(left < gutter < right for left, right, _ in line.cells):
        return (), ()
    before = tuple(cell for cell in line.cells if cell[1] <= gutter)
    return before, line.cells[len(before) :]


def _is_prose(column: Sequence[tuple[Cell, ...]]) -> bool:
    width = max(cells[-1][1] for cells in column) - min(cells[0][0] for cells in column)
    fill = statistics.median((cells[-1][1] - cells[0][0]) / width for cells in column)
    chars = statistics.median(sum(len(text) for _, _, text in cells) for cells in column)
    return fill >= _MIN_FILL and chars >= _MIN_COLUMN_CHARS


def part_tables(lines: Sequence[Line]) -> Iterator[tuple[list[Line], list[list[str]]]]:
    """Yield runs of ``lines``, each with the rows of its table; ``[]`` if it is none.

    A table without rules has at least three lines of cells below each other, the first of all columns and without a
    number.
    """
    runs: list[list[Line]] = []
    for line in lines:
        before = runs[-1][-1] if runs else line
        is_near = 0 < before.height - line.height <= _MAX_LINE_GAP * line.size
        if is_near and min(len(before.cells), len(line.cells)) > 1:
            runs[-1].append(line)
        elif is_near and (longer := _lengthen(before, line)):
            runs[-1][-1] = longer
        else:
            runs.append([line])
    for run in runs:
        yield run, _grid(run)


def _lengthen(before: Line, line: Line) -> Line | None:
    """Return ``before`` with ``line`` as the second line of one of its cells, if it stands below it."""
    (left, right, text), *others = line.cells
    for index, cell in enumerate(before.cells):
        if index and not others and abs(cell[0] - left) < _MAX_INDENT:
            longer = (cell[0], max(cell[1], right), f"{cell[2]} {text}")
            cells = (*before.cells[:index], longer, *before.cells[index + 1 :])
            return replace(before, cells=cells, height=line.height)
    return None


def _grid(run: Sequence[Line]) -> list[list[str]]:
    columns: list[tuple[float, float]] = []
    for left, right, _ in sorted(cell for line in run for cell in line.cells):
        if columns and left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    names = "".join(text for _, _, text in run[0].cells)
    if len(run) < _MIN_TABLE_LINES or len(run[0].cells) != len(columns) or any(map(str.isdigit, names)):
        return []
    return [
        [" ".join(text for at, _, text in line.cells if left <= at <= right) for left, right in columns] for line in run
    ]
