"""PDF to text: its lines by pypdf, with place and letter size, and its ruled tables by pdfplumber."""

from __future__ import annotations

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, IndirectObject

from documents.converters.output import compose, literal, one_line, own_title
from documents.converters.pdf_layout import Line, markdown
from documents.converters.pdf_layout import title as title_of
from documents.converters.tables import sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

_END = b"%%EOF"
_NO_PASSWORD = ""  # opens files that are only protected from changes
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_OCR = "put it through a text recognition (OCR)"
_LETTER_WIDTH = 0.55  # of its height
_MIN_TABLE_SHARE = 0.8
"""A table holds at least this share of the letters within its lines, else the lines stay text."""


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    left: float
    height: float
    size: float


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
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(_NO_PASSWORD):
        raise Unconvertible("is protected with a password: save it without one")
    found = _page_objects(reader)
    plain: list[str] = []
    read = _pages(data, found, plain)
    if not read:
        raise Unconvertible("is damaged: none of its pages is to be found")
    pages = [lines or () for lines in read]
    damaged = [number for number, lines in enumerate(read, 1) if lines is None]
    fields = _fields(reader)
    if not any(pages) and not fields:
        if damaged:
            raise Unconvertible(f"is damaged: {_name_pages(damaged)} cannot be read, and no other holds text")
        raise Unconvertible(f"holds no text, as if it were scanned: {_OCR} first")
    own = own_title(_stated_title(reader))
    body = "\n\n".join([*([markdown(pages)] if any(pages) else []), *fields])
    caveats = _caveats(found, read, is_cut_short=is_cut_short)
    return Converted(compose(body, title=title_of(pages, own)), caveats, "\n".join(plain))


def _pages(data: bytes, found: Sequence[PageObject], plain: list[str]) -> list[tuple[Line, ...] | None]:
    """Return the lines of each page; None for a damaged page, which costs no other page.

    The text of each page as pypdf reads it is added to ``plain``.
    """
    with_tables: list[int] = []
    for number, page in enumerate(found):
        with suppress(Exception):
            if _may_have_tables(page):
                with_tables.append(number)
    tables: dict[int, list[_PdfTable]] = {}
    with suppress(Exception):  # pdfminer reads fewer damaged files than pypdf: the text is there all the same
        tables = _find_tables(data, with_tables) if with_tables else {}
    read: list[tuple[Line, ...] | None] = []
    for number, page in enumerate(found):
        lines = None
        with suppress(Exception):
            lines = tuple(_page_lines(page, number, tables.get(number, []), plain))
        read.append(lines)
    return read


def _page_objects(reader: PdfReader) -> list[PageObject]:
    """Return the pages in order; if the page tree is damaged, the remaining pages in the file's order."""
    with suppress(Exception):
        if pages := list(reader.pages):
            return pages
    found: list[PageObject] = []
    numbers = {number for table in reader.xref.values() for number in table} | reader.xref_objStm.keys()
    for number in sorted(numbers):
        with suppress(Exception):
            held = reader.get_object(number)
            if isinstance(held, DictionaryObject) and held.get("/Type") == "/Page":
                page = PageObject(reader, IndirectObject(number, 0, reader))
                page.update(held)
                found.append(page)
    return found


def _stated_title(reader: PdfReader) -> str:
    with suppress(Exception):
        return str((reader.metadata.title if reader.metadata else None) or "")
    return ""


def _page_lines(page: PageObject, number: int, tables: Sequence[_PdfTable], plain: list[str]) -> Iterator[Line]:
    """Yield a page's lines with text, in the file's order, with each table where its first cell was."""
    pieces: list[_Piece] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], _font: object, size: float) -> None:
        # Text space to the page's: PDF 32000-1, 9.4.4; the last column of these matrices is 0 0 1.
        left = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = math.hypot(tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3])
        angle = math.degrees(math.atan2(tm[0] * cm[1] + tm[1] * cm[3], tm[0] * cm[0] + tm[1] * cm[2]))
        upright = math.cos(math.radians(angle - (page.rotation or 0))) > 0.5
        # Text that runs up the margin, such as arXiv's stamp, is not a heading, however large.
        pieces.append(_Piece(text.translate(_LIGATURES), left, height, abs(size) * scale if upright else 0.0))

    plain.append(page.extract_text(visitor_text=visit).translate(_LIGATURES))
    whole = [table for table in tables if _is_whole(table, pieces)]
    placed: set[int] = set()

    def place(piece: _Piece) -> int:
        return next((n for n, table in enumerate(whole) if table.contains(piece.left, piece.height)), -1)

    held = -1
    for found, group in groupby(pieces, key=lambda piece: place(piece) if piece.text.strip() else held):
        held = found
        if found < 0:
            yield from _text_lines(list(group), number)
        elif found not in placed:
            placed.add(found)
            yield Line("", number, whole[found].box[3], 0.0, table=sheet_markdown(whole[found].rows))


def _is_whole(table: _PdfTable, pieces: Sequence[_Piece]) -> bool:
    inside = sum(_letters(piece.text) for piece in pieces if table.contains(piece.left, piece.height))
    return 0 < inside * _MIN_TABLE_SHARE <= sum(_letters(cell) for row in table.rows for cell in row)


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _text_lines(pieces: Sequence[_Piece], number: int) -> Iterator[Line]:
    line: list[_Piece] = []
    for piece in [*pieces, _Piece("\n", 0.0, 0.0, 0.0)]:
        first, *others = piece.text.split("\n")
        line.append(_Piece(first, piece.left, piece.height, piece.size))
        for other in others:
            words = " ".join("".join(part.text for part in line).split())
            if words:
                yield _join_pieces(words, line, number)
            line = [_Piece(other, piece.left, piece.height, piece.size)]


def _join_pieces(words: str, pieces: Sequence[_Piece], page: int) -> Line:
    sizes: Counter[float] = Counter()
    for piece in pieces:
        sizes[round(2 * piece.size) / 2] += len(piece.text.strip())
    height = next(piece.height for piece in pieces if piece.text.strip())
    return Line(words, page=page, height=height, size=sizes.most_common(1)[0][0], columns=_count_columns(pieces))


def _count_columns(pieces: Sequence[_Piece]) -> int:
    """Count a line's parts that are more than two letters apart, by the usual width of letters."""
    filled = [piece for piece in pieces if piece.text.strip()]
    widths = (len(piece.text.strip()) * piece.size * _LETTER_WIDTH for piece in filled)
    return 1 + sum(
        after.left - before.left > width + 2 * before.size
        for (before, after), width in zip(pairwise(filled), widths, strict=False)
    )


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


def _caveats(
    found: Sequence[PageObject], pages: Sequence[Sequence[Line] | None], *, is_cut_short: bool
) -> tuple[str, ...]:
    damaged = [number for number, lines in enumerate(pages, 1) if lines is None]
    scanned = [n for n, lines in enumerate(pages, 1) if lines == () and _has_picture(found[n - 1])]
    caveats = [f"{_name_pages(damaged)} cannot be read: damaged"] if damaged else []
    caveats += ["is cut short: what stood behind is not read"] if is_cut_short else []
    verb = "holds" if len(scanned) == 1 else "hold"
    caveats += [f"{_name_pages(scanned)} {verb} no text, as if scanned: {_OCR}"] if scanned else []
    return tuple(caveats)


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


def _has_picture(page: PageObject) -> bool:
    with suppress(Exception):
        objects = page["/Resources"]["/XObject"]  # type: ignore[index]  # a PDF object has any type
        return any(objects[name]["/Subtype"] in ("/Image", "/Form") for name in objects)
    return False


MAX_PAGE_BYTES = 2_000_000
MAX_EDGES = 4000
"""A page with more lines or larger drawing instructions is a map or a drawing: finding cells in it takes minutes."""

_STROKE = re.compile(rb"\b(?:re|l)\b")
_MIN_STROKES = 4
_MIN_FILLED = 0.3  # of the cells; a form or a drawing has fewer
_MIN_CELLS = 0.5  # of columns times rows; bars of a chart have fewer

_MIN_ALIKE = 3  # cells, and lines in each: fewer are as many by chance
_READING: dict[str, Any] = {
    "x_tolerance_ratio": 0.2,  # of the letters' size: more is a space
    "char_dir_rotated": "btt",  # the names of narrow columns run up
    "line_dir_rotated": "ltr",
}
_MAX_TURNED = 0.5  # of the letters; a drawing has more that do not stand upright

type _Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _PdfTable:
    """A table on a page: its box (left, bottom, right, top in points), its rows, and where its columns begin."""

    box: _Box
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]

    def contains(self, left: float, height: float) -> bool:
        """Return whether text that begins there is in the table."""
        x0, y0, x1, y1 = self.box
        return x0 - 1 <= left <= x1 and y0 - 1 <= height <= y1


def _may_have_tables(page: PageObject) -> bool:
    """Return whether a page has lines that may be a table's: pdfplumber takes 0.3 s for a page."""
    contents = page.get_contents()
    data = contents.get_data() if contents is not None else b""
    return len(data) <= MAX_PAGE_BYTES and not page.rotation and len(_STROKE.findall(data)) >= _MIN_STROKES


def _find_tables(data: bytes, numbers: Sequence[int]) -> dict[int, list[_PdfTable]]:
    """Return the tables on the pages ``numbers`` (from 0), from top to bottom.

    A table that continues one of the page before, with columns at the same places, gets its first row as header.
    """
    import pdfplumber  # takes a third of a second

    found: dict[int, list[_PdfTable]] = {}
    with pdfplumber.open(io.BytesIO(data), pages=[number + 1 for number in numbers]) as pdf:
        for page in pdf.pages:
            with suppress(Exception):  # one damaged page costs no other its tables
                found[page.page_number - 1] = list(_page_tables(page))
            page.close()
    for number in numbers:
        before, here = found.get(number - 1), found.get(number)
        if before and here and before[-1].columns == here[0].columns and before[-1].rows[0] != here[0].rows[0]:
            here[0] = _PdfTable(here[0].box, (before[-1].rows[0], *here[0].rows), here[0].columns)
    return found


def _page_tables(page: Any) -> Iterator[_PdfTable]:
    if len(page.edges) > MAX_EDGES:
        return
    turned = sum(1 for char in page.chars if not char["upright"])
    if turned > _MAX_TURNED * len(page.chars):
        return
    for table in sorted(page.find_tables(), key=lambda table: table.bbox[1]):
        rows = _table_rows(table)
        filled = sum(1 for row in rows for cell in row if cell)
        size = len(rows) * len(rows[0])
        is_table = len(rows) > 1 and len(rows[0]) > 1 and filled >= _MIN_FILLED * size
        if is_table and len(table.cells) >= _MIN_CELLS * size:
            x0, top, x1, bottom = table.bbox
            height = page.height + page.mediabox[1]
            lefts = sorted({round(cell[0]) for cell in table.cells})
            yield _PdfTable((x0, height - bottom, x1, height - top), rows, tuple(lefts))


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
