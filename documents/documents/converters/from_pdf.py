"""PDF to text: what a page draws by PDFium, and what is damaged or filled in by pypdf."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, IndirectObject
from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

from documents.converters import has_text_recognition, recognition
from documents.converters.output import compose, hidden_caveat, literal, one_line, own_title
from documents.converters.pdf_layout import Line, markdown
from documents.converters.pdf_layout import title as title_of
from documents.converters.pdf_rows import RuledTable, find_tables, part_tables, read_lines, repeat_headers
from documents.converters.pdf_text import PageText, Piece, read_page
from documents.converters.recognition import count_words, read_picture
from documents.converters.tables import records, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

_END = b"%%EOF"
_NO_PASSWORD = ""  # opens files that are only protected from changes
_MAX_STAMP_WORDS = 50  # on a scan, by other means than text recognition
_MIN_SCAN_SHARE = 0.7  # of the page that the pictures of a scan cover
_DPI = 300
_MARGIN = 0.09  # of the page's height, above and below: the first line of text begins lower


def convert(data: bytes) -> Converted:
    """Return the file's text as Markdown, with its title from the first page's largest heading or its properties."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # recoverable damage does not interest the user
    is_cut_short = _END not in data
    if is_cut_short:
        data += b"\nstartxref\n0\n" + _END  # pypdf reads no file without one; it then searches the file for its parts
    data, reader, document = _open(data)
    read = [_read_page(document, number, reader) for number in range(len(document))]
    recognised = _recognise(document, read)
    caveats = _caveats(read, is_cut_short=is_cut_short)
    return join_pages(read, recognised, _fields(reader), caveats, own_title(document.get_metadata_value("Title")))


def join_pages(
    read: Sequence[PageText | None],
    recognised: Sequence[int],
    fields: Sequence[str] = (),
    caveats: Sequence[str] = (),
    own: str = "",
) -> Converted:
    """Return the text of ``read`` pages and of a form's ``fields``; ``recognised`` are the numbers of scanned pages.

    Raises:
        Unconvertible: there is none.
    """
    tables = repeat_headers(list(map(find_tables, read)))
    pages = [tuple(_page_lines(page, n, tables[n])) if page else () for n, page in enumerate(read)]
    if not any(pages) and not fields:
        damaged = [number for number, page in enumerate(read, 1) if page is None]
        if damaged:
            raise Unconvertible(f"is damaged: {_name_pages(damaged)} cannot be read, and no other holds text")
        raise Unconvertible(f"holds no text, as if it were scanned: {recognition.remedy()}")
    body = "\n\n".join(filter(None, [markdown(pages), *fields]))
    plain = "\n".join("".join(piece.text for piece in page.pieces) for page in read if page)
    if recognised:
        verb = "was" if len(recognised) == 1 else "were"
        caveats = [*caveats, f"{_name_pages(recognised)} {verb} read by {recognition.NAME}"]
    source_type = recognition.NAME if recognised else ""
    return Converted(compose(body, title=title_of(pages, own), source_type=source_type), tuple(caveats), plain)


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


def _recognise(document: PdfDocument, read: list[PageText | None]) -> list[int]:
    """Read the scans among the ``read`` pages by text recognition, and return their numbers from 1."""
    scans = [
        (number, page, words)
        for number, page in enumerate(read)
        if page and (words := sum(count_words(piece.text) for piece in page.pieces)) <= _MAX_STAMP_WORDS
        if page.picture_share >= (_MIN_SCAN_SHARE if words else 0.01)
    ]
    if not scans or not has_text_recognition():
        return []
    sizes = Counter({10.0: 1})
    for page in filter(None, read):
        for piece in page.pieces:
            sizes[round(2 * piece.size) / 2] += len(piece.text)
    body, found = max(sizes, key=sizes.__getitem__), []
    for number, page, words in scans[: recognition.MAX_PAGES]:
        scale = min(_DPI / 72, recognition.LONG_SIDE / max(document[number].get_size()))
        scanned = read_picture(document[number].render(scale).to_pil(), body)
        if sum(count_words(piece.text) for piece in scanned.pieces) > 2 * words:
            read[number] = replace(scanned, hidden=page.hidden)
            found.append(number + 1)
    return found


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


def _caveats(pages: Sequence[PageText | None], *, is_cut_short: bool) -> tuple[str, ...]:
    damaged = [number for number, page in enumerate(pages, 1) if page is None]
    scanned = [n for n, page in enumerate(pages, 1) if page and not page.pieces and page.picture_share]
    caveats = [f"{_name_pages(damaged)} cannot be read: damaged"] if damaged else []
    caveats += ["is cut short: what stood behind is not read"] if is_cut_short else []
    verb = "holds" if len(scanned) == 1 else "hold"
    caveats += [f"{_name_pages(scanned)} {verb} no text, as if scanned: {recognition.remedy()}"] if scanned else []
    hidden = ("".join(piece.text for piece in page.hidden) for page in pages if page)
    return (*caveats, *hidden_caveat(hidden))


def _name_pages(numbers: Sequence[int]) -> str:
    """Return ``page 3`` or ``pages 1, 4-6``."""
    runs = (list(run) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    named = ", ".join("-".join(str(number) for _, number in dict.fromkeys((run[0], run[-1]))) for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {named}"
