"""PDF to text: its lines by pypdf, where they stand and how large their letters are, and its tables by pdfplumber."""

from __future__ import annotations

import io
import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise

from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, IndirectObject

from documents.converters import pdf_tables
from documents.converters.output import Converted, Unconvertible, compose, converted, literal, one_line, own_title
from documents.converters.pdf_layout import markdown
from documents.converters.pdf_layout import title as title_of
from documents.converters.pdf_pages import Line
from documents.converters.pdf_tables import Table

_END = b"%%EOF"
_NO_PASSWORD = ""  # of files that anybody may open, but not change
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_OCR = "put it through a text recognition (OCR)"
_LETTER_WIDTH = 0.55  # of its height
_MIN_TABLE_SHARE = 0.8
"""Of the letters within its lines that a table has to hold; else the lines are kept as they are."""


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    left: float
    height: float
    size: float


def convert(data: bytes) -> str | Converted:
    """The file's text as Markdown; its title is the largest heading's on its first page, or that of its properties.

    Raises:
        Unconvertible: it needs a password, has no pages, holds no text, or all that hold some are damaged.
    """
    for library in ("pypdf", "pdfminer"):
        logging.getLogger(library).setLevel(logging.CRITICAL)  # what they make do with is no news to the user
    is_cut_short = _END not in data
    if is_cut_short:
        data += b"\nstartxref\n0\n" + _END  # pypdf reads no file without one; it then searches the file for its parts
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(_NO_PASSWORD):
        raise Unconvertible("is protected with a password: save it without one")
    found = _page_objects(reader)
    read = _pages(data, found)
    if not read:
        raise Unconvertible("is damaged: none of its pages is to be found")
    pages = [lines or () for lines in read]
    damaged = [number for number, lines in enumerate(read, 1) if lines is None]
    fields = _fields(reader)
    if not any(pages) and not fields:
        if damaged:
            raise Unconvertible(f"is damaged: {_named(damaged)} cannot be read, and no other holds text")
        raise Unconvertible(f"holds no text, as if it were scanned: {_OCR} first")
    own = own_title(_stated_title(reader))
    body = "\n\n".join([*([markdown(pages)] if any(pages) else []), *fields])
    caveats = _losses(damaged, is_cut_short=is_cut_short)
    return converted(compose(body, title=title_of(pages, own)), (*caveats, *_scanned(found, read)))


def _losses(damaged: Sequence[int], *, is_cut_short: bool) -> tuple[str, ...]:
    pages = f"{_named(damaged)} cannot be read: damaged" if damaged else ""
    return tuple(filter(None, (pages, "is cut short: what stood behind is not read" if is_cut_short else "")))


def _pages(data: bytes, found: Sequence[PageObject]) -> list[tuple[Line, ...] | None]:
    """The lines of each page; None for one that is damaged, which costs no other page."""
    with_tables: list[int] = []
    for number, page in enumerate(found):
        with suppress(Exception):
            if pdf_tables.may_have_tables(page):
                with_tables.append(number)
    tables: dict[int, list[Table]] = {}
    with suppress(Exception):  # pdfminer reads fewer damaged files than pypdf: the text is there all the same
        tables = pdf_tables.find(data, with_tables) if with_tables else {}
    read: list[tuple[Line, ...] | None] = []
    for number, page in enumerate(found):
        lines = None
        with suppress(Exception):
            lines = tuple(_lines(page, number, tables.get(number, [])))
        read.append(lines)
    return read


def _page_objects(reader: PdfReader) -> list[PageObject]:
    """The pages in order; where the tree that holds them is damaged those that are there, as the file has them."""
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


def _lines(page: PageObject, number: int, tables: Sequence[Table]) -> Iterator[Line]:
    """The lines of a page that hold text, in the order of the file, with each table where its first cell was."""
    pieces: list[_Piece] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], _font: object, size: float) -> None:
        # Text space to the page's: PDF 32000-1, 9.4.4; the last column of these matrices is 0 0 1.
        left = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = math.hypot(tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3])
        angle = math.degrees(math.atan2(tm[0] * cm[1] + tm[1] * cm[3], tm[0] * cm[0] + tm[1] * cm[2]))
        upright = math.cos(math.radians(angle - (page.rotation or 0))) > 0.5
        # What runs up the margin, as arXiv's stamp does, is no heading however large.
        pieces.append(_Piece(text.translate(_LIGATURES), left, height, abs(size) * scale if upright else 0.0))

    page.extract_text(visitor_text=visit)
    whole = [table for table in tables if _is_whole(table, pieces)]
    placed: set[int] = set()

    def place(piece: _Piece) -> int:
        return next((n for n, table in enumerate(whole) if table.holds(piece.left, piece.height)), -1)

    held = -1
    for found, group in groupby(pieces, key=lambda piece: place(piece) if piece.text.strip() else held):
        held = found
        if found < 0:
            yield from _text_lines(list(group), number)
        elif found not in placed:
            placed.add(found)
            yield Line("", number, whole[found].box[3], 0.0, table=pdf_tables.markdown(whole[found]))


def _is_whole(table: Table, pieces: Sequence[_Piece]) -> bool:
    inside = sum(_letters(piece.text) for piece in pieces if table.holds(piece.left, piece.height))
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
                yield _line(words, line, number)
            line = [_Piece(other, piece.left, piece.height, piece.size)]


def _line(words: str, pieces: Sequence[_Piece], page: int) -> Line:
    sizes: Counter[float] = Counter()
    for piece in pieces:
        sizes[round(2 * piece.size) / 2] += len(piece.text.strip())
    height = next(piece.height for piece in pieces if piece.text.strip())
    return Line(words, page=page, height=height, size=sizes.most_common(1)[0][0], columns=_columns(pieces))


def _columns(pieces: Sequence[_Piece]) -> int:
    """How many parts of a line stand apart by more than two letters, by what letters are wide as a rule."""
    filled = [piece for piece in pieces if piece.text.strip()]
    widths = (len(piece.text.strip()) * piece.size * _LETTER_WIDTH for piece in filled)
    return 1 + sum(
        after.left - before.left > width + 2 * before.size
        for (before, after), width in zip(pairwise(filled), widths, strict=False)
    )


def _fields(reader: PdfReader) -> list[str]:
    """What is filled in a form: its values are in no page's text."""
    filled = []
    with suppress(Exception):
        for name, field in (reader.get_fields() or {}).items():
            value = one_line(str(field.get("/V") or "")).removeprefix("/")
            if value and field.get("/FT") in ("/Tx", "/Ch", "/Btn") and value != "Off":
                label = one_line(str(field.get("/TU") or name.rsplit(".", 1)[-1]))
                filled.append(f"- {literal(label)}: {value}")
    return ["\n".join(filled)] if filled else []


def _scanned(found: Sequence[PageObject], pages: Sequence[Sequence[Line] | None]) -> tuple[str, ...]:
    empty = [n for n, lines in enumerate(pages, 1) if lines == () and _has_picture(found[n - 1])]
    verb = "holds" if len(empty) == 1 else "hold"
    return (f"{_named(empty)} {verb} no text, as if scanned: {_OCR}",) if empty else ()


def _named(numbers: Sequence[int]) -> str:
    """``page 3``, ``pages 1, 4-6``."""
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
        objects = page["/Resources"]["/XObject"]  # type: ignore[index]  # a PDF object is what it is
        return any(objects[name]["/Subtype"] in ("/Image", "/Form") for name in objects)
    return False
