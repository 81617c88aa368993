"""Conversion of chunks to Chroma metadata and back: fourteen fields, the chunk's number, and the document's others.

Chroma takes text, numbers and booleans only; None, empty text and no date are left out (absent is absent).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from knowledge.model.values import Chunk, Scalar
from knowledge.read.dates import document_date

TEXT_FIELDS = (
    "title",
    "section",
    "doc_id",
    "category",
    "source_org",
    "source_type",
    "jurisdiction",
    "last_updated",
    "path",
    "url",
)
NUMBER_FIELDS = ("dated", "chunk_index", "chunk_count")
FIELDS = (*TEXT_FIELDS, "source_urls", *NUMBER_FIELDS)
"""The fourteen metadata fields of a chunk, as filters name them."""

FIELD_TYPES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys((*TEXT_FIELDS, "source_urls"), "str") | dict.fromkeys(NUMBER_FIELDS, "int")
)
"""Their types, also where no document of an index has a value."""

NUMBER_FIELD = "chunk_number"
UNTITLED = "Untitled"

_RESERVED = frozenset((*FIELDS, NUMBER_FIELD))
_FORBIDDEN_STARTS = ("chroma:", "#", "$")  # Chroma refuses such keys
_INT64 = 2**63


def to_metadata(chunk: Chunk) -> dict[str, Scalar]:
    """Return the metadata that Chroma stores with ``chunk``. ``extra`` never overwrites a field of ours."""
    stored: dict[str, Scalar] = {}
    for key, value in chunk.extra.items():
        if key not in _RESERVED and key and not key.startswith(_FORBIDDEN_STARTS) and _storable(value):
            stored[key] = value
    stored |= {name: value for name in TEXT_FIELDS if (value := getattr(chunk, name))}
    if chunk.source_urls:
        # As in the seed, one comma-separated text; a comma inside a URL is escaped so that it stays one URL.
        stored["source_urls"] = ",".join(url.replace(",", "%2C") for url in chunk.source_urls)
    if chunk.dated:
        stored["dated"] = chunk.dated
    return stored | {"chunk_index": chunk.chunk_index, "chunk_count": chunk.chunk_count, NUMBER_FIELD: chunk.number}


def to_chunk(metadata: Mapping[str, object], *, number: int, text: str) -> Chunk:
    """Return a chunk from Chroma metadata, our own or foreign; values that fit no field are coerced or dropped."""
    extra = {
        key: value
        for key, value in metadata.items()
        if key not in _RESERVED and isinstance(value, (str, int, float, bool)) and not key.startswith("chroma:")
    }
    texts = {name: _text(metadata.get(name)) for name in TEXT_FIELDS}
    texts["title"] = texts["title"] or UNTITLED
    return Chunk(
        **texts,
        number=number,
        text=text,
        source_urls=_urls(metadata.get("source_urls")),
        dated=_count(metadata.get("dated"), default=0),
        chunk_index=_count(metadata.get("chunk_index"), default=0),
        chunk_count=_count(metadata.get("chunk_count"), default=1),
        extra=extra,
    )


def with_stated_date(chunk: Chunk) -> Chunk:
    """Date a ``chunk`` that was stored elsewhere, without a date, by what its other fields state."""
    if chunk.dated:
        return chunk
    stated = document_date(last_updated=chunk.last_updated, extra=chunk.extra, path=chunk.path, url=chunk.url)
    return replace(chunk, dated=stated) if stated else chunk


def merge_types(fields: Mapping[str, str], metadata: Mapping[str, object]) -> dict[str, str]:
    """Widen ``fields`` (name -> str, int, float, bool or mixed) by the metadata of one more chunk.

    int and float together are "float": Chroma compares them with each other, but cuts a fraction that it is asked for
    to a whole number before it compares with one (``rag.ask.query.request_filter`` makes up for that).
    """
    merged = dict(fields)
    for name, value in metadata.items():
        kind = type(value).__name__
        known = merged.setdefault(name, kind if isinstance(value, (str, int, float, bool)) else "mixed")
        if kind != known:
            merged[name] = "float" if {kind, known} == {"int", "float"} else "mixed"
    return merged


def _storable(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)  # Chroma drops the others in silence
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -_INT64 <= value < _INT64
    return isinstance(value, str) and value != ""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) else ""


def _urls(value: object) -> tuple[str, ...]:
    parts: Iterable[object] = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(url for part in parts if (url := _text(part).strip()))


def _count(value: object, *, default: int) -> int:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0 else default
