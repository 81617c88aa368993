"""Jupyter notebooks to Markdown: text cells as they are, code in fences, printed output shortened.

A notebook is JSON of a few fields (nbformat 4, since 2015): nbconvert would bring a server's libraries to read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from documents.converters.from_html import drop_unseen, markdown, parse
from documents.converters.output import compose, fence, hidden_caveat
from documents.errors import Unconvertible
from documents.values import Converted

MAX_BYTES = 100 * 1024 * 1024
MAX_OUTPUT_LINES = 20
MAX_OUTPUT_CHARS = 1500
"""Longer output is data, not text: 60 of 1,245 outputs of 158 public notebooks are longer."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DATA_IMAGE = re.compile(r"!\[([^\]]*)\]\((?:data|attachment):[^)]*\)|\bdata:[\w/+.-]+;base64,[A-Za-z0-9+/=\s]+")
_BARE_OBJECT = re.compile(r"<[^<>\n]*>")  # <Axes: xlabel='x'>: shown in place of a figure


def convert(data: bytes) -> Converted:
    """Return the cells in order, without raw cells, figures and the error stream."""
    if len(data) > MAX_BYTES:
        raise Unconvertible(f"has {len(data) >> 20} MiB; at most {MAX_BYTES >> 20} are read: clear its outputs")
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except ValueError as exc:
        raise Unconvertible(f"is damaged or no notebook: {exc}") from exc
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise Unconvertible("has no list of cells, as notebooks have since 2015: open and save it in Jupyter")
    meta = book.get("metadata") or {}
    language = (meta.get("language_info") or {}).get("name") or (meta.get("kernelspec") or {}).get("language")
    hidden: list[str] = []
    parts = [part for cell in cells for part in _parts(cell, str(language or "python").casefold(), hidden)]
    return Converted(compose("\n\n".join(part for part in parts if part.strip())), hidden_caveat(hidden))


def _parts(cell: Mapping[str, Any], language: str, hidden: list[str]) -> Iterator[str]:
    kind, source = cell.get("cell_type"), _text(cell.get("source"))
    if kind == "markdown":
        yield _DATA_IMAGE.sub(lambda match: match[1] or "", source)
    elif kind == "code":
        yield fence(source, language)
        for output in cell.get("outputs") or []:
            yield _output(output, hidden)


def _output(output: Mapping[str, Any], hidden: list[str]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return "" if output.get("name") == "stderr" else _printed(_text(output.get("text")))
    if kind == "error":
        return _printed(f"{output.get('ename')}: {output.get('evalue')}")
    shown = output.get("data") or {}
    html = _text(shown.get("text/html"))
    if "<table" in html:
        page = parse(html)
        hidden += drop_unseen(page)
        tables = [markdown(parse(str(table))) for table in page.select("table")]
        return _short("\n\n".join(table.strip("\n") for table in tables))
    if written := _text(shown.get("text/markdown")):
        return _DATA_IMAGE.sub(lambda match: match[1] or "", _short(written))
    plain = _text(shown.get("text/plain"))
    return "" if _BARE_OBJECT.fullmatch(plain.strip()) else _printed(plain)


def _printed(text: str) -> str:
    return fence(_short(_DATA_IMAGE.sub("", _ANSI.sub("", text))))


def _short(text: str) -> str:
    lines = text.strip("\n").split("\n")
    kept = "\n".join(lines[:MAX_OUTPUT_LINES])
    if len(kept) > MAX_OUTPUT_CHARS:
        kept = kept[:MAX_OUTPUT_CHARS].rsplit("\n", 1)[0]
    return kept if len(kept) >= len(text.strip("\n")) else f"{kept}\n..."


def _text(value: Any) -> str:
    """Return a field that is a string or a list of lines."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else ""
