"""Tables of a PDF page by the lines drawn around their cells: the lines' cells by pdfplumber, the words by PDFium."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from documents.converters.output import one_line
from documents.converters.pdf_rows import part_tables, read_lines
from documents.converters.pdf_text import MAX_RULES, Box, PageText, Piece, contains, turned

_TOLERANCE = 3.0  # points: lines that are nearer to each other are one
_MIN_RULES = 6  # of two rows and two columns
_MIN_FILLED = 0.3  # of the cells; a form or a drawing has fewer
_MAX_SHARE = 0.9  # of the page
_MAX_REPEATED = 2.0  # of the words, by cells that span others
_MIN_ALIKE = 3  # cells, and lines in each: fewer are as many by chance


@dataclass(frozen=True, slots=True)
class RuledTable:
    """A table on a page: its box, its rows, where its columns begin, and the pieces that its cells hold."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
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
    inside = _fill(cells, [(turned(piece.box, page.turn), piece) for piece in page.pieces])
    rows = _spread({cell: "\n".join(line.text for line in read_lines(inside[cell], 0)) for cell in cells})
    pieces = frozenset(chain.from_iterable(inside.values()))
    filled = [cell for row in rows for cell in row if cell]
    is_doubled = sum(map(len, filled)) > _MAX_REPEATED * sum(len(piece.text) for piece in pieces)
    if len(filled) >= _MIN_FILLED * size and not is_doubled:
        yield RuledTable(box, rows, tuple(sorted({round(left) for left in lefts})), pieces)


def _fill(cells: Sequence[Box], placed: Sequence[tuple[Box, Piece]]) -> Mapping[Box, list[Piece]]:
    """Return the pieces of each cell."""
    inside: defaultdict[Box, list[Piece]] = defaultdict(list)
    for box, piece in placed:
        for cell in cells:
            if contains(cell, box):
                inside[cell].append(piece)
                break
    return inside


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _spread(words: dict[Box, str]) -> tuple[tuple[str, ...], ...]:
    """Return rows of words; a spanning cell stands in each place that it covers, so that rows read alone."""
    lefts = sorted({cell[0] for cell in words})
    tops = sorted({cell[3] for cell in words}, reverse=True)

    def at(left: float, top: float) -> str:
        for box, text in words.items():
            if contains(box, (left, top - 1, left + 1, top)):
                return "" if left != lefts[0] == box[0] and box[2] > lefts[-1] else text  # as wide as the table: once
        return ""

    rows = ([at(left, top) for left in lefts] for top in tops)
    return tuple(tuple(one_line(cell) for cell in line) for row in rows for line in _split_row(row))


def _split_row(row: Sequence[str]) -> Sequence[Sequence[str]]:
    """Return ``row``, or its lines if all cells have equally many: a rule may stand only below every few lines."""
    parts = [cell.split("\n") for cell in row if cell]
    counts = {len(part) for part in parts}
    if len(parts) < len(row) or len(row) < _MIN_ALIKE or len(counts) != 1 or min(counts) < _MIN_ALIKE:
        return [row]
    return list(zip(*parts, strict=True))


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
