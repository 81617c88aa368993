"""What an index will hold: documents cut into numbered chunks, and the text of each that is embedded. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from knowledge.build.reading import Known
from knowledge.cut.chunking import Piece, is_markdown, split
from knowledge.cut.embedding_text import embed_text
from knowledge.errors import SourceUnreadable, unexpected
from knowledge.open.metadata import to_metadata
from knowledge.types import Chunk, Document, Failure

if TYPE_CHECKING:
    from knowledge.types import Vector

RECIPE = 4
"""Raise it when the cutting or ``embed_text`` changes: every chunk is then cut and embedded anew."""

VERSION_CHARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """What a rebuild keeps of the index before it.

    ``numbers`` gives the chunk numbers of a ``(doc_id, text)``, ascending; ``vectors`` the unit vector of an
    ``embed_key``, ``known`` what was read of one. ``next_number`` is the first number that no chunk ever had.
    """

    next_number: int = 1
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)
    known: Known = field(default_factory=Known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The chunks of the index to be, by number.

    ``documents`` are those that were cut, in the order given, and ``counts`` how many chunks each has; ``failed``
    names the others.
    """

    chunks: tuple[Chunk, ...]
    next_number: int
    documents: tuple[Document, ...]
    counts: tuple[int, ...]
    failed: tuple[Failure, ...] = ()


def plan(documents: Sequence[Document], *, previous: Previous, max_chars: int, overlap: int) -> Plan:
    """Cut ``documents`` into chunks of at most ``max_chars`` characters and number them.

    A chunk keeps its number while its text stays in its document; of equal texts the first keep the lowest. Whatever
    cutting a document raises is that document's failure.

    Raises:
        SourceUnreadable: two documents have the same doc_id.
    """
    kept: dict[tuple[str, str], list[int]] = defaultdict(list)
    for key, numbers in previous.numbers.items():
        kept[key] = sorted(numbers, reverse=True)
    good: list[Document] = []
    cut: list[tuple[Document, tuple[Piece, ...]]] = []
    failed: list[Failure] = []
    for given, document in zip(documents, _distinct(map(_storable, documents)), strict=True):
        try:
            cut.append((document, _cut(document, max_chars, overlap)))
        except Exception as exc:  # noqa: BLE001 - the other documents go on
            failed.append(Failure(document.path, unexpected(exc)))
        else:
            good.append(given)
    chunks: list[Chunk] = []
    next_number = previous.next_number
    for document, pieces in cut:
        for index, piece in enumerate(pieces):
            if free := kept[document.doc_id, piece.text]:
                number = free.pop()
            else:
                number, next_number = next_number, next_number + 1
            chunks.append(_chunk(document, number, piece.text, piece.section, index, len(pieces)))
    return Plan(
        chunks=tuple(sorted(chunks, key=lambda chunk: chunk.number)),
        next_number=next_number,
        documents=tuple(good),
        counts=tuple(len(pieces) for _, pieces in cut),
        failed=tuple(failed),
    )


def embed_key(title: str, text: str) -> bytes:
    """A short stand-in for ``embed_text``, equal when that is equal."""
    return hashlib.sha256(embed_text(title, text).encode()).digest()


def content_version(chunks: Iterable[Chunk], **settings: object) -> str:
    """The version of an index: a hash of its chunks (number, text, metadata) and of the ``settings`` behind them."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for chunk in chunks:
        digest.update(json.dumps([chunk.number, chunk.text, to_metadata(chunk)], sort_keys=True).encode() + b"\n")
    return digest.hexdigest()[:VERSION_CHARS]


def _distinct(documents: Iterable[Document]) -> Iterator[Document]:
    paths: dict[str, str] = {}
    for document in documents:
        if document.doc_id in paths:
            raise SourceUnreadable(
                f"{document.path!r} and {paths[document.doc_id]!r} have the same doc_id {document.doc_id!r}"
            )
        paths[document.doc_id] = document.path
        yield document


def _cut(document: Document, max_chars: int, overlap: int) -> tuple[Piece, ...]:
    markdown = is_markdown(document.path)
    return split(document.text, title=document.title, max_chars=max_chars, overlap=overlap, markdown=markdown)


def _chunk(document: Document, number: int, text: str, section: str, index: int, count: int) -> Chunk:
    return Chunk(
        number=number,
        text=text,
        title=document.title,
        section=section,
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
        url=document.url,
        extra=document.extra,
    )


def _storable(document: Document) -> Document:
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
