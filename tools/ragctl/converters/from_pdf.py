"""PDF to text with pypdf: its lines, where they stand and how large their letters are."""

from __future__ import annotations

import io
import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from pypdf import PageObject, PdfReader

from ragctl.converters.output import Unconvertible, compose, own_title
from ragctl.converters.pdf_layout import markdown
from ragctl.converters.pdf_pages import Line

_NO_PASSWORD = ""  # of files that anybody may open, but not change
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}


def convert(data: bytes) -> str:
    """The file's text as Markdown; its title is that of its properties.

    Raises:
        Unconvertible: it needs a password, has no pages, or holds no text.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it makes do with is no news to the user
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(_NO_PASSWORD):
        raise Unconvertible("is protected with a password: save it without one")
    pages = [tuple(_lines(page, number)) for number, page in enumerate(reader.pages)]
    if not pages:
        raise Unconvertible("is damaged: none of its pages is to be found")
    if not any(pages):
        raise Unconvertible("holds no text, as if it were scanned: put it through a text recognition (OCR) first")
    title = reader.metadata.title if reader.metadata else None
    return compose(markdown(pages), title=own_title(str(title or "")))


def _lines(page: PageObject, number: int) -> Iterator[Line]:
    """The lines of a page that hold text, in the order of the file."""
    pieces: list[tuple[str, float, float]] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], _font: object, size: float) -> None:
        # Text space to the page's: PDF 32000-1, 9.4.4; the last column of these matrices is 0 0 1.
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = math.hypot(tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3])
        pieces.append((text.translate(_LIGATURES), height, abs(size) * scale))

    page.extract_text(visitor_text=visit)
    line: list[tuple[str, float, float]] = []
    for text, height, size in [*pieces, ("\n", 0.0, 0.0)]:
        first, *others = text.split("\n")
        line.append((first, height, size))
        for other in others:
            words = " ".join("".join(part for part, _, _ in line).split())
            if words:
                yield _line(words, line, number)
            line = [(other, height, size)]


def _line(words: str, pieces: Sequence[tuple[str, float, float]], page: int) -> Line:
    sizes: Counter[float] = Counter()
    for text, _, size in pieces:
        sizes[round(2 * size) / 2] += len(text.strip())
    height = next(height for text, height, _ in pieces if text.strip())
    return Line(words, page=page, height=height, size=sizes.most_common(1)[0][0])
