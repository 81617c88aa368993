"""CSV and TSV to Markdown, with Python's own reader."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import islice

from documents.converters.from_html import fragment_markdown
from documents.converters.output import compose, hidden_caveat
from documents.converters.tables import Budget, sheet_markdown
from documents.errors import Unconvertible
from documents.source_words import NOTION_LINK
from documents.values import Converted, Decode

MAX_BYTES = 100 * 1024 * 1024
MAX_CELL_CHARS = 1_000_000

_DELIMITERS = ",;\t|"
_HTML = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|h[1-6]|i|img|li|ol|p|pre|span|strong|table|td|th|tr|u|ul)(?:\s[^<>]*)?/?>"
    r"|&(?:\w{2,8}|#x?[0-9A-Fa-f]{1,6});",
    re.IGNORECASE,
)
_HEADING_MARKS = re.compile(r"^#{1,6} ", re.MULTILINE)
_ENDS = ".,:;!?"
_SAMPLE_ROWS = 100
_SAMPLE_CHARS = 1 << 20


def convert(data: bytes, decode: Decode) -> Converted:
    """Return the rows as Markdown."""
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: split it")
    text, caveat = decode(data)
    text = NOTION_LINK.sub("", text.replace("\0", ""))
    csv.field_size_limit(MAX_CELL_CHARS)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    hidden: list[str] = []
    shown = [
        [_without_html(cell, hidden) if _HTML.search(cell) else cell for cell in row] for row in Budget().limit(rows)
    ]
    return Converted(compose(sheet_markdown(shown)), (*filter(None, [caveat]), *hidden_caveat(hidden)))


def _without_html(cell: str, hidden: list[str]) -> str:
    """Return what a browser shows of a cell, in one line; ``hidden`` gets the rest."""
    text, unseen = fragment_markdown(cell)
    hidden += unseen
    lines = (line.strip("| ") for line in _HEADING_MARKS.sub("", text).splitlines())
    shown = (line.replace(" | ", ", ") for line in lines if line.strip("-| "))
    return " ".join(line if line[-1] in _ENDS else f"{line};" for line in shown).removesuffix(";")


def _delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first rows into equally many cells, on a tie the most cells."""

    def evenness(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(io.StringIO(text[:_SAMPLE_CHARS], newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS) if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return max(_DELIMITERS, key=evenness)
