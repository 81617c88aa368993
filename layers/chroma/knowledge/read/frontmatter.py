"""What a document says of itself: YAML front matter, and from it (or a corpus' metadata) the fields of a Document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from knowledge.read import yaml
from knowledge.types import Scalar

MAX_BLOCK_CHARS = 64 * 1024
_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_UNCLOSED = re.compile(r"---[ \t]*\n[\w.-]+[ \t]*:(?:[ \t]|\n)")
_KEY = re.compile(r"[\w.-]+")

# Chunk fields that no document may set.
_OWN = ("section", "chunk_index", "chunk_count", "chunk_number", "path", "dated")
_TEXTS = ("title", "category", "source_org", "source_type", "jurisdiction", "last_updated", "url", "doc_id")
_ALIASES = {
    "link": "url",
    "source": "source_org",
    "organisation": "source_org",
    "organization": "source_org",
    "last_update": "last_updated",
    "lastmod": "last_updated",
    "updated": "last_updated",
}
_MAX_INT = 2**63  # Chroma's integers are 64 bits
_SLASHED_DATE = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_ENTITY = re.compile(r"&#?\w+;")
_URL_COMMA = re.compile(r",\s+|,(?=https?://)|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A document's own account of itself, ``""`` where it says nothing; ``extra`` as in ``Document``."""

    doc_id: str = ""
    title: str = ""
    category: str = ""
    source_org: str = ""
    source_urls: tuple[str, ...] = ()
    source_type: str = ""
    jurisdiction: str = ""
    last_updated: str = ""
    url: str = ""
    extra: Mapping[str, Scalar] = field(default_factory=dict)


def split(text: str) -> tuple[Mapping[Any, Any], str, str]:
    """Front matter, the text behind it, and what was wrong with the front matter (``""``: nothing).

    A text without a block between ``---`` lines at its very beginning has no front matter; one whose block is no
    mapping with a name in it (a paragraph between two rulers) neither, and keeps it. A block that is not YAML is
    left out.
    """
    match = _BLOCK.match(text[: MAX_BLOCK_CHARS + 1])
    if not match:
        return {}, text, "front matter has no closing '---': read as text" if _UNCLOSED.match(text) else ""
    body = text[match.end() :]
    try:
        found = yaml.load(match[1])
    except ValueError as exc:
        return {}, body, f"front matter is not valid YAML and was left out: {exc}"
    if not found:
        return {}, body, ""
    if not isinstance(found, dict) or not any(_KEY.fullmatch(str(key)) for key in found):
        return {}, text, "begins with a block between '---' that is no front matter: read as text"
    return found, body, ""


def fields(meta: Mapping[Any, Any]) -> Fields:
    """Sort ``meta`` into the fields of a document; names count without case, ``-`` and camelCase as ``_``.

    Scalars under other names become ``extra``. Left out: lists and mappings, empty and non-finite values, and the
    names that a chunk sets itself (section, path, dated, chunk_index, chunk_count, chunk_number).
    """
    texts: dict[str, str] = {}
    aliased: dict[str, str] = {}
    urls: tuple[str, ...] = ()
    extra: dict[str, Scalar] = {}
    for key, value in meta.items():
        name = _name(str(key))
        if name == "source_urls":
            urls = _urls(value)
        elif name in _TEXTS:
            texts[name] = _text(value)
        elif name == "id":
            aliased["doc_id"] = _text(value)
        elif name not in _OWN and (scalar := _scalar(value)) is not None:
            extra[str(key).strip()] = scalar
            if name in _ALIASES:
                aliased.setdefault(_ALIASES[name], _text(value))
    known = aliased | {name: text for name, text in texts.items() if text}
    source = known.get("source_org", "")
    if _is_web(source):  # "source: https://..." names a page, not an organisation
        known["source_org"] = ""
        urls = urls or (source,)
    url = next((found for found in (known.get("url", ""), *urls) if _is_web(found)), "")
    known |= {"url": url, "title": _title(known.get("title", ""))}
    return Fields(**known | {"last_updated": _iso(known.get("last_updated", ""))}, source_urls=urls, extra=extra)


def _title(text: str) -> str:
    """On one line, as a page shows it: web pages are exported with ``&amp;`` in their titles."""
    return " ".join(_ENTITY.sub(lambda match: unescape(match[0]), text).split())


def _name(key: str) -> str:
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())).lower()


def _scalar(value: object) -> Scalar | None:
    """``value`` as it is stored; None for what is not."""
    if isinstance(value, date):  # datetime is one too
        return value.isoformat()
    if isinstance(value, str):
        return value.replace("\0", " ").strip() or None
    if isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int):
        return value if -_MAX_INT <= value < _MAX_INT else str(value)
    return None


def _text(value: object) -> str:
    scalar = _scalar(value)
    if scalar is None:
        return ""
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)


def _urls(value: object) -> tuple[str, ...]:
    parts = _URL_COMMA.split(value) if isinstance(value, str) else value if isinstance(value, list) else ()
    stripped = (part.strip() for part in parts if isinstance(part, str))
    return tuple(dict.fromkeys(part for part in stripped if part and part.upper() != "N/A"))


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _iso(text: str) -> str:
    match = _SLASHED_DATE.fullmatch(text)
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}" if match else text
