"""PDF to text: its lines by PDFium, ruled tables by pdfplumber, and what is damaged or filled in by pypdf."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, IndirectObject
from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

from documents.converters.output import compose, hidden_caveat, literal, one_line, own_title
from documents.converters.pdf_layout import Line, markdown
from documents.converters.pdf_layout import title as title_of
from documents.converters.pdf_rows import part_tables, read_lines
from documents.converters.pdf_text import Box, PageText, Piece, contains, read_page
from documents.converters.tables import records, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

_END = b"%%EOF"
_NO_PASSWORD = ""  # opens files that are only protected from changes
_OCR = "put it through a text recognition (OCR)"
_MARGIN = 0.09  # of the page's height, above and below: the first line of text begins lower
_MIN_TABLE_SHARE = 0.8
_MAX_TABLE_SHARE = 2.0
"""A table holds between these shares of the letters within its lines, else the lines stay text."""


def convert(data: bytes) -> Converted:
    """Return the file's text as Markdown, with its title from the first page's largest heading or its properties.

    Raises:
        Unconvertible: the file needs a password, has no pages, or has no readable page with text.
    """
    for library in ("pypdf", "pdfminer"):
        logging.getLogger(library).setLevel(logging.CRITICAL)  # recoverable damage does not interest the user
    is_cut_short = _END not in data
    if is_cut_short:
        data += b"\nstartxref\n0\n" + _END  # pypdf reads no file without one; it then searches the file for its parts
    data, reader, document = _open(data)
    read = [_read_page(document, number, reader) for number in range(len(document))]
    tables = _find_tables(data, read)
    pages = [tuple(_page_lines(page, n, tables.get(n, []))) if page else () for n, page in enumerate(read)]
    damaged = [number for number, page in enumerate(read, 1) if page is None]
    fields = _fields(reader)
    if not any(pages) and not fields:
        if damaged:
            raise Unconvertible(f"is damaged: {_name_pages(damaged)} cannot be read, and no other holds text")
        raise Unconvertible(f"holds no text, as if it were scanned: {_OCR} first")
    body = "\n\n".join(filter(None, [markdown(pages), *fields]))
    title = title_of(pages, own_title(document.get_metadata_value("Title")))
    plain = "\n".join("".join(piece.text for piece in page.pieces) for page in read if page)
    return Converted(compose(body, title=title), _caveats(read, is_cut_short=is_cut_short), plain)


def _open(data: bytes) -> tuple[bytes, PdfReader, PdfDocument]:
    """Return a file as it is read: a damaged one is written anew."""
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(_NO_PASSWORD):
        raise Unconvertible("is protected with a password: save it without one")
    with suppress(PdfiumError):
        return data, reader, PdfDocument(data)
    data = _write_pages(reader)
    return data, PdfReader(io.BytesIO(data)), PdfDocument(data)


def _write_pages(reader: PdfReader) -> bytes:
    """Return a file of the pages that a damaged one holds, in its order."""
    writer, out = PdfWriter(), io.BytesIO()
    numbers = {number for table in reader.xref.values() for number in table} | reader.xref_objStm.keys()
    for number in sorted(numbers):
        with suppress(Exception):
            held = reader.get_object(number)
            if isinstance(held, DictionaryObject) and held.get("/Type") == "/Page":
                page = PageObject(reader, IndirectObject(number, 0, reader))
                page.update(held)
                writer.add_page(page)
    if not writer.pages:
        raise Unconvertible("is damaged: none of its pages is to be found")
    writer.write(out)
    return out.getvalue()


def _read_page(document: PdfDocument, number: int, reader: PdfReader) -> PageText | None:
    """Return a page's text; None for a damaged page, which costs no other page."""
    with suppress(Exception):
        page = read_page(document[number], has_layers="/OCProperties" in reader.root_object)
        if not page.pieces:  # PDFium says nothing of damage
            reader.pages[number].extract_text(visitor_text=lambda *_: None)
        return page
    return None


def _page_lines(page: PageText, number: int, tables: Sequence[_PdfTable]) -> Iterator[Line]:
    """Yield a page's lines in the order of reading, with each table where its first cell was."""
    kept = _drop_parts(tables, page.pieces) if tables else ()
    whole = [table for table in kept if _is_whole(table, page.pieces)]
    letters = [_letters("".join(cell for row in table.rows for cell in row)) for table in whole]
    margin = _MARGIN * (page.top - page.foot)
    placed: set[int] = set()

    def place(piece: Piece) -> int:
        words = list(map(_letters, piece.text.split()))
        inside = (n for n, table in enumerate(whole) if contains(table.box, piece.box))
        return next((n for n in inside if all(word in letters[n] for word in words)), -1)

    for found, group in groupby(page.pieces, key=place):
        if found >= 0:
            if found not in placed:
                placed.add(found)
                yield Line((), number, whole[found].box[3], 0.0, sheet_markdown(whole[found].rows))
            continue
        for lines, rows in part_tables(read_lines(list(group), number)):
            if rows:
                yield replace(lines[0], cells=(), table=records(rows[0], rows[1:]))
                continue
            for line in lines:
                yield replace(line, in_margin=not page.foot + margin < line.height < page.top - margin)


def _is_whole(table: _PdfTable, pieces: Sequence[Piece]) -> bool:
    inside = sum(len(_letters(piece.text)) for piece in pieces if contains(table.box, piece.box))
    cells = sum(len(_letters(cell)) for row in table.rows for cell in row)
    return 0 < inside * _MIN_TABLE_SHARE <= cells <= inside * _MAX_TABLE_SHARE


def _drop_parts(tables: Sequence[_PdfTable], pieces: Sequence[Piece]) -> Iterator[_PdfTable]:
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


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _fields(reader: PdfReader) -> list[str]:
    """Return the values filled in a form, which are in no page's text."""
    filled = []
    with suppress(Exception):
        for name, field in (reader.get_fields() or {}).items():
            value = one_line(str(field.get("/V") or "")).removeprefix("/")
            if value and field.get("/FT") in ("/Tx", "/Ch", "/Btn") and value != "Off":
                label = one_line(str(field.get("/TU") or name.rsplit(".", 1)[-1]))
                filled.append(f"- {literal(label)}: {value}")
    return ["\n".join(filled)] if filled else []


def _caveats(pages: Sequence[PageText | None], *, is_cut_short: bool) -> tuple[str, ...]:
    damaged = [number for number, page in enumerate(pages, 1) if page is None]
    scanned = [n for n, page in enumerate(pages, 1) if page and not page.pieces and page.has_picture]
    caveats = [f"{_name_pages(damaged)} cannot be read: damaged"] if damaged else []
    caveats += ["is cut short: what stood behind is not read"] if is_cut_short else []
    verb = "holds" if len(scanned) == 1 else "hold"
    caveats += [f"{_name_pages(scanned)} {verb} no text, as if scanned: {_OCR}"] if scanned else []
    hidden = ("".join(piece.text for piece in page.hidden) for page in pages if page)
    return (*caveats, *hidden_caveat(hidden))


def _name_pages(numbers: Sequence[int]) -> str:
    """Return ``page 3`` or ``pages 1, 4-6``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {named}"


MAX_SEGMENTS = 100_000
MAX_EDGES = 4000
"""A page with more lines or larger drawing instructions is a map or a drawing: finding cells in it takes minutes."""

_MIN_SEGMENTS = 8  # of four lines, each a move and a stroke
_MIN_FILLED = 0.3  # of the cells; a form or a drawing has fewer
_MIN_CELLS = 0.5  # of columns times rows; bars of a chart have fewer

_MAX_PAGE_SHARE = 0.9  # of the page's width and height, or of its area; more is a background, not a table
_MIN_AREA = 4.0  # points; a narrower one is a line
_NEAR_WHITE = 0.03

_MIN_ALIKE = 3  # cells, and lines in each: fewer are as many by chance
_READING: dict[str, Any] = {
    "x_tolerance_ratio": 0.2,  # of the letters' size: more is a space
    "char_dir_rotated": "btt",  # the names of narrow columns run up
    "line_dir_rotated": "ltr",
}
_MAX_TURNED = 0.5  # of the letters; a drawing has more that do not stand upright


@dataclass(frozen=True, slots=True)
class _PdfTable:
    """A table on a page: its box (left, bottom, right, top in points), its rows, and where its columns begin."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]


def _find_tables(data: bytes, pages: Sequence[PageText | None]) -> dict[int, list[_PdfTable]]:
    """Return the tables of each page (from 0) with lines that may be a table's: pdfplumber takes 0.3 s for a page.

    A table that continues one of the page before, with columns at the same places, gets its first row as header.
    """
    drawn = {n: page for n, page in enumerate(pages) if page and _MIN_SEGMENTS <= page.segments <= MAX_SEGMENTS}
    found: dict[int, list[_PdfTable]] = {}
    if not drawn:
        return found
    import pdfplumber  # takes a third of a second

    with (
        suppress(Exception),  # pdfminer reads fewer damaged files: the text is there all the same
        pdfplumber.open(io.BytesIO(data), pages=[number + 1 for number in drawn]) as pdf,
    ):
        for page in pdf.pages:
            number = page.page_number - 1
            with suppress(Exception):  # one damaged page costs no other its tables
                found[number] = list(_page_tables(page, drawn[number].hidden))
            page.close()
    for number in drawn:
        before, here = found.get(number - 1), found.get(number)
        if before and here and before[-1].columns == here[0].columns and before[-1].rows[0] != here[0].rows[0]:
            here[0] = _PdfTable(here[0].box, (before[-1].rows[0], *here[0].rows), here[0].columns)
    return found


def _page_tables(page: Any, hidden: Sequence[Piece]) -> Iterator[_PdfTable]:
    turned = sum(not char["upright"] for char in page.chars)
    if page.rotation or len(page.edges) > MAX_EDGES or turned > _MAX_TURNED * len(page.chars):
        return
    height = page.height + page.mediabox[1]

    def is_seen(shape: Any) -> bool:
        if shape["object_type"] == "char":
            box = (shape["x0"], height - shape["bottom"], shape["x1"], height - shape["top"])
            return not any(contains(piece.box, box) for piece in hidden)
        return not _is_background(shape, page.width, page.height)

    seen = page.filter(is_seen)
    for table in sorted(seen.find_tables(), key=lambda table: table.bbox[1]):
        rows = _table_rows(table)
        filled = sum(bool(cell) for row in rows for cell in row)
        size = len(rows) * len(rows[0])
        is_grid = len(rows) > 1 and len(rows[0]) > 1 and len(table.cells) >= _MIN_CELLS * size
        x0, top, x1, bottom = table.bbox
        is_page = (x1 - x0) * (bottom - top) >= _MAX_PAGE_SHARE * page.width * page.height
        if is_grid and not is_page and filled >= _MIN_FILLED * size:
            lefts = sorted({round(cell[0]) for cell in table.cells})
            yield _PdfTable((x0, height - bottom, x1, height - top), rows, tuple(lefts))


def _is_background(shape: Any, width: float, height: float) -> bool:
    """Return whether a shape is an area as large as the page or in its colour: its edges are no lines of a table."""
    if shape["object_type"] not in ("rect", "curve") or min(shape["width"], shape["height"]) < _MIN_AREA:
        return False
    fills = shape["fill"] and not shape["stroke"]
    share = _MAX_PAGE_SHARE if fills else 1.0
    if shape["width"] >= share * width and shape["height"] >= share * height:
        return True
    colour = shape["non_stroking_color"]
    levels = colour if isinstance(colour, (tuple, list)) else (colour,)
    paper = 0.0 if len(levels) == 4 else 1.0  # inks or lights
    return fills and all(isinstance(level, (int, float)) and abs(level - paper) < _NEAR_WHITE for level in levels)


def _table_rows(table: Any) -> tuple[tuple[str, ...], ...]:
    """Return the cells' words; a spanning cell stands in each place that it covers, so that rows read alone."""
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
                return "" if left != lefts[0] == x0 and x1 > lefts[-1] else text  # as wide as the table: once
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
