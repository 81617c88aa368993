"""What of a document goes into the index: texts that have an encoding, and its fields beside each piece."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote

from knowledge.cut.chunking import Piece
from knowledge.model.values import Chunk, Document


def chunk_of(document: Document, number: int, piece: Piece, index: int, count: int) -> Chunk:
    """Piece ``index`` (from 0) of the ``count`` of ``document``, as a chunk with that number."""
    return Chunk(
        number=number,
        text=piece.text,
        title=document.title,
        section=piece.section,
        doc_id=document.doc_id,
        category=document.category,
        source_org=document.source_org,
        source_urls=document.source_urls,
        source_type=document.source_type,
        jurisdiction=document.jurisdiction,
        last_updated=document.last_updated,
        dated=document.dated,
        chunk_index=index,
        chunk_count=count,
        path=document.path,
        url=_address(document, piece.anchor),
        extra=document.extra,
    )


def _address(document: Document, anchor: str) -> str:
    """The section's own address, where it is known how its site makes them."""
    known = document.url and document.anchors and "#" not in document.url
    return f"{document.url}#{quote(anchor)}" if known and anchor else document.url


def storable(document: Document) -> Document:
    """The document without lone surrogates (JSON escapes and odd file names give them): they are not UTF-8."""
    texts = {f.name: getattr(document, f.name) for f in fields(document) if f.name != "digest"}
    changed: dict[str, Any] = {name: _utf8(value) for name, value in texts.items() if isinstance(value, str)}
    return replace(
        document,
        **changed,
        source_urls=tuple(map(_utf8, document.source_urls)),
        extra={_utf8(key): _utf8(value) if isinstance(value, str) else value for key, value in document.extra.items()},
    )


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()
