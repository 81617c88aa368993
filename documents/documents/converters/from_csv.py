"""CSV and TSV to Markdown, with Python's own reader."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import islice

from documents.converters.output import compose
from documents.converters.tables import Budget, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted, Decode

MAX_BYTES = 100 * 1024 * 1024
MAX_CELL_CHARS = 1_000_000

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 100
_SAMPLE_CHARS = 1 << 20


def convert(data: bytes, decode: Decode) -> Converted:
    """Return the rows as Markdown.

    Raises:
        Unconvertible: the file is too large, or empty.
        ValueError: it is not text.
    """
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: split it")
    text, caveat = decode(data)
    text = text.replace("\0", "")
    csv.field_size_limit(MAX_CELL_CHARS)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    return Converted(compose(sheet_markdown(list(Budget().limit(rows)))), (caveat,) if caveat else ())


def _delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first rows into equally many cells, on a tie the most cells.

    ``csv.Sniffer`` takes letters for delimiters.
    """

    def evenness(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(io.StringIO(text[:_SAMPLE_CHARS], newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS) if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    return max(_DELIMITERS, key=evenness)
