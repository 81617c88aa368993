"""Lines of a PDF page by position: cells on one baseline, columns read down, tables with and without rules.

pdfplumber finds the cells between the lines drawn around them, PDFium their words.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise

from documents.converters.output import one_line
from documents.converters.pdf_layout import Cell, Line
from documents.converters.pdf_text import CELL_GAP, MAX_RULES, Box, PageText, Piece, contains, turned

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
    return _read_down([_line(group, page) for group in groups])


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


_TOLERANCE = 3.0  # points: lines that are nearer to each other are one
_MIN_RULES = 6  # of two rows and two columns
_MIN_FILLED = 0.3  # of the cells; a form or a drawing has fewer
_MAX_SHARE = 0.9  # of the page
_MAX_REPEATED = 2.0  # of the words, by cells that span others


@dataclass(frozen=True, slots=True)
class RuledTable:
    """A table on a page: its box, its rows, where its columns begin, and the pieces that its cells hold."""

    box: Box
    rows: Sequence[Sequence[str]]
    columns: tuple[int, ...]
    pieces: frozenset[Piece]


def find_tables(page: PageText | None) -> list[RuledTable]:
    """Return the tables of a page from top to bottom."""
    if not page or not _MIN_RULES <= len(page.rules) <= MAX_RULES:
        return []
    from pdfplumber import table as grids  # takes a third of a second

    edges = [  # pdfplumber counts heights from the top
        {"x0": x0, "x1": x1, "top": -y1, "bottom": -y0, "width": x1 - x0, "height": y1 - y0}
        | {"orientation": "h" if x1 - x0 > y1 - y0 else "v"}
        for x0, y0, x1, y1 in page.rules
        if max(x1 - x0, y1 - y0) >= 1
    ]
    merged = grids.merge_edges(edges, *4 * [_TOLERANCE])
    merged = [edge for edge in merged if max(edge["width"], edge["height"]) >= _TOLERANCE]
    crossings = grids.edges_to_intersections(merged, _TOLERANCE, _TOLERANCE)
    grouped = grids.cells_to_tables(grids.intersections_to_cells(crossings))
    boxes = ([(x0, -bottom, x1, -top) for x0, top, x1, bottom in cells] for cells in grouped)
    tables = [table for cells in boxes for table in _read_table(cells, page)]
    return list(_drop_parts(tables, page.pieces)) if tables else []


def _read_table(cells: Sequence[Box], page: PageText) -> Iterator[RuledTable]:
    """Yield the table of ``cells`` if it has rows and columns with words, and is not the whole page."""
    lefts, bottoms, rights, tops = (sorted(set(edges)) for edges in zip(*cells, strict=True))
    box = (lefts[0], bottoms[0], rights[-1], tops[-1])
    size = len(lefts) * len(tops)
    if min(len(lefts), len(tops)) < 2 or _area(box) >= _MAX_SHARE * _area(page.box):
        return
    inside = _fill(cells, page)
    words = {cell: one_line(" ".join(line.text for line in read_lines(inside[cell], 0))) for cell in cells}
    rows = _spread(words, lefts, tops)
    pieces = frozenset(chain.from_iterable(inside.values()))
    filled = [cell for row in rows for cell in row if cell]
    is_doubled = sum(map(len, filled)) > _MAX_REPEATED * sum(len(piece.text) for piece in pieces)
    if len(filled) >= _MIN_FILLED * size and not is_doubled:
        yield RuledTable(box, rows, tuple(sorted({round(left) for left in lefts})), pieces)


def _fill(cells: Sequence[Box], page: PageText) -> dict[Box, list[Piece]]:
    inside: defaultdict[Box, list[Piece]] = defaultdict(list)
    for piece in page.pieces:
        place = turned(piece.box, page.turn)
        for cell in [cell for cell in cells if contains(cell, place)][:1]:
            inside[cell].append(piece)
    return inside


def _spread(words: dict[Box, str], lefts: Sequence[float], tops: Sequence[float]) -> list[list[str]]:
    """Return rows of words; a spanning cell stands in each place that it covers, one as wide as the table once."""
    rows = [[""] * len(lefts) for _ in tops]
    for (left, bottom, right, top), text in words.items():
        columns = [x for x, place in enumerate(lefts) if left <= place < right]
        for row in (row for row, place in zip(rows, reversed(tops), strict=True) if bottom < place <= top):
            for column in columns[:1] if len(columns) == len(lefts) else columns:
                row[column] = text
    return rows


def _drop_parts(tables: Sequence[RuledTable], pieces: Sequence[Piece]) -> Iterator[RuledTable]:
    """Yield ``tables`` without those that have lines around some of their rows or columns only."""
    lines = read_lines(pieces, 0)
    runs = [(run[-1].height, run[0].height, len(rows)) for run, rows in part_tables(lines) if rows]
    for table in tables:
        left, bottom, right, top = table.box
        own = [line.cells for line in lines if bottom < line.height < top]
        cells = [[left < (x0 + x1) / 2 < right for x0, x1, _ in line] for line in own]
        wider = sum(any(line) and not all(line) for line in cells)
        most = max((count for last, first, count in runs if top > last and bottom < first), default=0)
        if len(table.rows) >= most and 2 * wider <= sum(map(any, cells)):
            yield table


def repeat_headers(pages: Sequence[list[RuledTable]]) -> list[list[RuledTable]]:
    """Return the tables of ``pages``; one that goes on from the page before, with the same columns, gets its header."""
    found = [list(tables) for tables in pages]
    for before, here in pairwise(found):
        if before and here and before[-1].columns == here[0].columns and before[-1].rows[0] != here[0].rows[0]:
            here[0] = replace(here[0], rows=(before[-1].rows[0], *here[0].rows))
    return found


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
