"""BEIR's ``corpus.jsonl``: one JSON object ``{_id, title, text, metadata}`` a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from knowledge.model.errors import unexpected
from knowledge.read.frontmatter import Fields, fields


@dataclass(frozen=True, slots=True)
class Record:
    """A line (from 1) that holds a document; ``fields.doc_id`` is its ``_id``, ``fields.title`` is never empty."""

    line: int
    text: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line (from 1) that holds none, and why."""

    line: int
    error: str


def records(text: str) -> Iterator[Record | BadLine]:
    """Read the lines of ``text``, blank ones left out.

    ``metadata`` is read as front matter would be, and so are other keys beside ``_id``, ``title`` and ``text``.
    Without a title the ``_id`` is the title; without a text (missing, null or blank) the title is the text.
    """
    for number, line in enumerate(_lines(text), start=1):
        if line.strip():
            try:
                yield _record(number, line)
            except ValueError as exc:
                yield BadLine(number, str(exc))
            except Exception as exc:  # noqa: BLE001 - the other lines go on
                yield BadLine(number, unexpected(exc))


def _lines(text: str) -> Iterator[str]:
    """The lines of ``text``, which ``split`` would hold all at once."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _record(number: int, line: str) -> Record:
    try:
        found = json.loads(line)
    except ValueError as exc:
        raise ValueError(f"is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 (the file's fault, not the caller's)
    doc_id, text = found.pop("_id", None), found.pop("text", None)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int)) or not str(doc_id).strip():
        raise ValueError("has no '_id'")
    text = "" if text is None else text
    if not isinstance(text, str):
        raise ValueError("has no 'text'")  # noqa: TRY004 (the file's fault, not the caller's)
    metadata = found.pop("metadata", None)
    meta = fields({**(metadata if isinstance(metadata, dict) else {}), **found})
    doc_id = str(doc_id).strip()
    # Public BEIR sets hold records of a title alone; it can be found, and there is nothing else to show.
    text = text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n").strip() or meta.title
    if not text:
        raise ValueError("has no 'text'")
    return Record(number, text, replace(meta, doc_id=doc_id, title=meta.title or doc_id))
