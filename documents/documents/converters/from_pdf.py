"""PDF to text: what a page draws by PDFium, and what is damaged or filled in by pypdf."""

from __future__ import annotations

import io
import logging
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, IndirectObject
from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

from documents.converters import has_text_recognition
from documents.converters.output import compose, hidden_caveat, literal, one_line, own_title
from documents.converters.pdf_layout import Line, markdown
from documents.converters.pdf_layout import title as title_of
from documents.converters.pdf_rows import RuledTable, find_tables, part_tables, read_lines, repeat_headers
from documents.converters.pdf_text import PageText, Piece, read_page
from documents.converters.recognition import LONG_SIDE, count_words, read_picture
from documents.converters.tables import records, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

_END = b"%%EOF"
_MAX_STAMP_WORDS = 50  # on a scan, by other means than text recognition
_MIN_SCAN_SHARE = 0.7  # of the page that the pictures of a scan cover
_RECOGNISED = "text recognition"

MAX_SCANS = 300
"""Pages of a file that are read by text recognition: 25 minutes on two cores, of dense ones 40."""
DPI = 300
_MARGIN = 0.09  # of the page's height, above and below: the first line of text begins lower


def convert(data: bytes) -> Converted:
    """Return the file's text as Markdown, with its title from the first page's largest heading or its properties."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # recoverable damage does not interest the user
    is_cut_short = _END not in data
    if is_cut_short:
        data += b"\nstartxref\n0\n" + _END  # pypdf reads no file without one; it then searches the file for its parts
    data, reader, document = _open(data)
    read = [_read_page(document, number, reader) for number in range(len(document))]
    scans = _recognise(document, read)
    tables = repeat_headers(list(map(find_tables, read)))
    pages = [tuple(_page_lines(page, n, tables[n])) if page else () for n, page in enumerate(read)]
    damaged = [number for number, page in enumerate(read, 1) if page is None]
    fields = _fields(reader)
    if not any(pages) and not fields:
        if damaged:
            raise Unconvertible(f"is damaged: {_name_pages(damaged)} cannot be read, and no other holds text")
        raise Unconvertible(f"holds no text, as if it were scanned: {remedy()}")
    body = "\n\n".join(filter(None, [markdown(pages), *fields]))
    title = title_of(pages, own_title(document.get_metadata_value("Title")))
    plain = "\n".join("".join(piece.text for piece in page.pieces) for page in read if page)
    text = compose(body, title=title, source_type=_RECOGNISED if scans else "")
    return Converted(text, _caveats(read, scans, is_cut_short=is_cut_short), plain)


def remedy() -> str:
    """Return what helps a scan that was not read."""
    if has_text_recognition():
        return f"{_RECOGNISED} finds none in the first {MAX_SCANS} pages without text"
    return f"install {_RECOGNISED} (pip install 'serverless-rag[ocr]', in a clone make setup OCR=1)"


def _open(data: bytes) -> tuple[bytes, PdfReader, PdfDocument]:
    """Return a file as it is read: a damaged one is written anew."""
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):  # which opens files that are only protected from changes
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


def _recognise(document: PdfDocument, read: list[PageText | None]) -> list[int]:
    """Read the scans among the ``read`` pages by text recognition, and return their numbers from 1."""
    scans = [(number, page) for number, page in enumerate(read) if page and _is_scan(page)]
    if not scans or not has_text_recognition():
        return []
    sizes = (round(2 * piece.size) / 2 for page in read if page for piece in page.pieces for _ in piece.text)
    body, found = statistics.mode([10.0, *sizes]), []
    for number, page in scans[:MAX_SCANS]:
        scale = min(DPI / 72, LONG_SIDE / max(document[number].get_size()))
        scanned = read_picture(document[number].render(scale).to_pil(), body)
        if count_words(scanned) > 2 * count_words(page):
            read[number] = replace(scanned, hidden=page.hidden)
            found.append(number + 1)
    return found


def _is_scan(page: PageText) -> bool:
    words = count_words(page)
    return words <= _MAX_STAMP_WORDS and page.picture_share >= (_MIN_SCAN_SHARE if words else 0.01)


def _page_lines(page: PageText, number: int, tables: Sequence[RuledTable]) -> Iterator[Line]:
    """Yield a page's lines in the order of reading, with each table where its first cell was."""
    _, foot, _, top = page.box
    margin = _MARGIN * (top - foot)
    placed: set[int] = set()

    def place(piece: Piece) -> int:
        return next((index for index, table in enumerate(tables) if piece in table.pieces), -1)

    for found, group in groupby(page.pieces, key=place):
        if found >= 0:
            if found not in placed:
                placed.add(found)
                yield Line((), number, tables[found].box[3], 0.0, sheet_markdown(tables[found].rows))
            continue
        for lines, rows in part_tables(read_lines(list(group), number)):
            if rows:
                yield replace(lines[0], cells=(), table=records(rows[0], rows[1:]))
                continue
            for line in lines:
                yield replace(line, in_margin=not foot + margin < line.height < top - margin)


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


def _caveats(pages: Sequence[PageText | None], scans: Sequence[int], *, is_cut_short: bool) -> tuple[str, ...]:
    damaged = [number for number, page in enumerate(pages, 1) if page is None]
    scanned = [n for n, page in enumerate(pages, 1) if page and not page.pieces and page.picture_share]
    caveats = [f"{_name_pages(damaged)} cannot be read: damaged"] if damaged else []
    caveats += ["is cut short: what stood behind is not read"] if is_cut_short else []
    verb = "holds" if len(scanned) == 1 else "hold"
    caveats += [f"{_name_pages(scanned)} {verb} no text, as if scanned: {remedy()}"] if scanned else []
    caveats += [f"{_RECOGNISED} read {_name_pages(scans)}"] if scans else []
    hidden = ("".join(piece.text for piece in page.hidden) for page in pages if page)
    return (*caveats, *hidden_caveat(hidden))


def _name_pages(numbers: Sequence[int]) -> str:
    """Return ``page 3`` or ``pages 1, 4-6``."""
    runs = (list(run) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    named = ", ".join("-".join(str(number) for _, number in dict.fromkeys((run[0], run[-1]))) for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {named}"
