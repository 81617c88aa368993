"""The plan of an index: documents cut into numbered chunks, and the chunks taken from the index before. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from knowledge.build.reading import ChunkReadings
from knowledge.build.removals import is_below, keep_emptied, owned_elsewhere
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS, TextPiece, is_markdown, split_seed, split_text
from knowledge.embedding import embed_text
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import SourceUnreadable, describe_unexpected
from knowledge.model.manifest import RECIPE, SEED_RECIPE, Manifest, SourceRecord
from knowledge.model.values import NEWEST_MESSAGE, Chunk, Document, Embedder, Failure, TokenEmbedder

if TYPE_CHECKING:
    from knowledge.model.values import Vector

VERSION_CHARS = 12
_MESSAGE = re.compile(r"(.*?)(?:, |^)(\d{4}-\d\d-\d\d)(?: \d\d:\d\d)?(?= > |$)")

type DocumentMapper = Callable[[Callable[[Document], Cut], Sequence[Document]], Iterable[Cut]]
"""Calls a function with each of many documents and gives the results in order, perhaps from several processes."""

type Cut = tuple[TextPiece, ...] | str
"""A document's pieces, or the reason why there are none."""


class IndexSettings(NamedTuple):
    """The settings that every chunk and vector of an index depends on, besides the documents and the format."""

    model: str
    dimensions: int
    collection: str
    max_chars: int
    overlap: int
    recipe: int
    has_tokens: bool

    @classmethod
    def of(cls, m: Manifest) -> IndexSettings:
        """Return the settings that the index of the manifest ``m`` was made with."""
        has_tokens = m.tokens is not None
        return cls(m.model, m.dimensions, m.collection, m.max_chars, m.overlap, m.recipe, has_tokens)

    @classmethod
    def now(cls, embedder: Embedder, *, collection: str, recipe: int) -> IndexSettings:
        """Return the settings that this program makes an index with."""
        has_tokens = isinstance(embedder, TokenEmbedder)
        return cls(embedder.model, embedder.dimensions, collection, MAX_CHARS, OVERLAP_CHARS, recipe, has_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousChunks:
    """The chunks of the index before, from which a new one takes numbers, vectors and unchanged documents.

    ``numbers`` gives the chunk numbers of a ``(doc_id, text)``, ascending; ``vectors`` the unit vector of an
    ``embed_key``, ``known`` the readings of chunks. ``next_number`` is the first number never used.
    ``sources`` and ``chunks`` are by doc_id. ``shared_titles`` are titles of several documents, where these
    are not all read at once. ``same_cut``: documents were cut as they would be now.
    """

    next_number: int = 1
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)
    known: ChunkReadings = field(default_factory=ChunkReadings)
    sources: Mapping[str, SourceRecord] = field(default_factory=dict)
    chunks: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    shared_titles: frozenset[str] = frozenset()
    same_cut: bool = False

    @classmethod
    def of(cls, chunks: Iterable[Chunk], sources: Iterable[SourceRecord], next_number: int) -> PreviousChunks:
        """Group ``chunks``, by number, without vectors and readings."""
        numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
        by_document: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            numbers[chunk.doc_id, chunk.text].append(chunk.number)
            by_document[chunk.doc_id].append(chunk)
        return cls(
            next_number=next_number,
            numbers=numbers,
            sources={source.doc_id: source for source in sources},
            chunks={doc_id: tuple(found) for doc_id, found in by_document.items()},
        )

    def chunks_of(self, document: Document) -> tuple[Chunk, ...] | None:
        """Return the chunks of ``document`` if it is unchanged, else None."""
        source = self.sources.get(document.doc_id)
        if not self.same_cut or source is None or (source.path, source.digest) != (document.path, document.digest):
            return None
        chunks = self.chunks.get(document.doc_id, ())
        return chunks if len(chunks) == source.chunks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The chunks of the new index, by number.

    ``sources`` are its documents: those that were cut, in the order given, then those that stay as they were, whose
    doc_ids are in ``kept``. ``failed`` names documents that could not be cut or embedded, ``emptied`` places without
    text that had documents.
    """

    chunks: tuple[Chunk, ...]
    next_number: int
    sources: tuple[SourceRecord, ...]
    kept: frozenset[str] = frozenset()
    failed: tuple[Failure, ...] = ()
    emptied: tuple[Failure, ...] = ()

    def without(self, errors: Mapping[str, str], previous: PreviousChunks) -> Plan:
        """Return the plan with the documents in ``errors`` (by doc_id) as they were before, or without them.

        ``errors`` gives the reason for each.
        """
        paths = {source.doc_id: source.path for source in self.sources}
        again = [doc_id for doc_id in errors if doc_id in previous.sources and doc_id not in self.kept]
        return replace(
            self,
            chunks=_by_number(
                [chunk for chunk in self.chunks if chunk.doc_id not in errors],
                *(previous.chunks.get(doc_id, ()) for doc_id in again),
            ),
            sources=(
                *(source for source in self.sources if source.doc_id not in errors),
                *(previous.sources[doc_id] for doc_id in again),
            ),
            kept=(self.kept - errors.keys()) | frozenset(again),
            failed=(*self.failed, *(Failure(paths[doc_id], error) for doc_id, error in errors.items())),
        )


def plan(
    documents: Sequence[Document],
    *,
    previous: PreviousChunks,
    recipe: int = RECIPE,
    lost: Collection[str] = (),
    emptied: Mapping[str, Failure] = MappingProxyType({}),
    map_documents: DocumentMapper = map,
) -> Plan:
    """Cut ``documents`` into chunks by ``recipe``, and number them.

    A chunk keeps its number while its text stays in its document; of equal texts the first keep the lowest. Any error
    in cutting a document is that document's failure. Documents of the index before stay as they were where they
    cannot be cut now, or where ``lost`` or ``emptied`` contains their path or a folder above it (``""``: all). A
    document of an emptied place is removed where its text is in other documents now.

    Raises:
        SourceUnreadable: two documents have the same doc_id.
    """
    stored = [storable(document) for document in documents]
    _check_doc_ids(stored)
    theirs = owned_elsewhere(stored, previous.sources, {*lost, *emptied})
    lost = {*lost, *(document.path for document in stored if document.doc_id in theirs)}
    unchanged = [previous.chunks_of(document) for document in documents]
    changed = [document for document, known in zip(stored, unchanged, strict=True) if known is None]
    cuts = iter(map_documents(partial(_cut, recipe=recipe), changed))
    draft = _PlanDraft(previous)
    for given, document, known in zip(documents, stored, unchanged, strict=True):
        if known is not None:
            draft.chunks += known
            draft.sources.append(previous.sources[given.doc_id])
            continue
        cut = next(cuts)
        if owner := theirs.get(document.doc_id):
            cut = f"has the doc_id {document.doc_id!r} of {owner!r}, which has no text to read now"
        draft.add_cut(given, document, cut)
    kept, failures = draft.find_kept(lost, emptied)
    return Plan(
        chunks=_by_number(draft.chunks, *(previous.chunks.get(source.doc_id, ()) for source in kept)),
        next_number=draft.next_number,
        sources=(*draft.sources, *kept),
        kept=frozenset(source.doc_id for source in kept),
        failed=tuple(draft.errors.values()),
        emptied=failures,
    )


class _PlanDraft:
    """The chunks, the sources and the errors (by doc_id) of the documents so far."""

    def __init__(self, previous: PreviousChunks) -> None:
        self._previous = previous
        self._free = {key: sorted(numbers, reverse=True) for key, numbers in previous.numbers.items()}
        self.chunks: list[Chunk] = []
        self.sources: list[SourceRecord] = []
        self.errors: dict[str, Failure] = {}
        self.next_number = previous.next_number

    def add_cut(self, given: Document, stored: Document, cut: Cut) -> None:
        """Add a document that was cut; its chunks take the numbers that its texts had."""
        if isinstance(cut, str):
            self.errors[stored.doc_id] = Failure(stored.path, cut)
            return
        for index, piece in enumerate(cut):
            if known := self._free.get((stored.doc_id, piece.text)):
                number = known.pop()
            else:
                number, self.next_number = self.next_number, self.next_number + 1
            self.chunks.append(_make_chunk(stored, number, piece, index, len(cut)))
        self.sources.append(SourceRecord(path=given.path, digest=given.digest, doc_id=given.doc_id, chunks=len(cut)))

    def find_kept(
        self, lost: Collection[str], emptied: Mapping[str, Failure]
    ) -> tuple[list[SourceRecord], tuple[Failure, ...]]:
        """Return the previous sources that stay as they were, and failures for ``emptied`` places."""
        read = {source.doc_id for source in self.sources}
        kept, others = [], []
        for source in self._previous.sources.values():
            if source.doc_id in self.errors or (source.doc_id not in read and is_below(source.path, lost)):
                kept.append(source)
            elif source.doc_id not in read:
                others.append(source)
        texts = {chunk.text for chunk in self.chunks}
        of_emptied, failures = keep_emptied(emptied, others, self._previous.chunks, texts)
        return kept + of_emptied, failures


def _by_number(*chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    return tuple(sorted(chain(*chunks), key=lambda chunk: chunk.number))


def source_keys(sources: Iterable[SourceRecord]) -> list[tuple[str, str, str]]:
    """Return doc_id, path and digest of each source, sorted: equal for the same documents."""
    return sorted((source.doc_id, source.path, source.digest) for source in sources)


def embed_key(title: str, text: str) -> bytes:
    """Return a hash of ``embed_text``."""
    return hashlib.sha256(embed_text(title, text).encode()).digest()


def content_version(chunks: Iterable[Chunk], **settings: object) -> str:
    """Return the version of an index: a hash of its chunks (number, text, metadata) and of its ``settings``."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for chunk in chunks:
        digest.update(json.dumps([chunk.number, chunk.text, to_metadata(chunk)], sort_keys=True).encode() + b"\n")
    return digest.hexdigest()[:VERSION_CHARS]


def storable(document: Document) -> Document:
    """Replace lone surrogates (JSON escapes and odd file names give them), which have no UTF-8 encoding."""
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


def _check_doc_ids(documents: Iterable[Document]) -> None:
    paths: dict[str, str] = {}
    for document in documents:
        if document.doc_id in paths:
            raise SourceUnreadable(
                f"{document.path!r} and {paths[document.doc_id]!r} have the same doc_id {document.doc_id!r}"
            )
        paths[document.doc_id] = document.path


def _cut(document: Document, *, recipe: int) -> Cut:
    try:
        if recipe == SEED_RECIPE:
            return split_seed(document.text, max_chars=MAX_CHARS, overlap=OVERLAP_CHARS)
        return split_text(
            document.text,
            title=document.title,
            max_chars=MAX_CHARS,
            overlap=OVERLAP_CHARS,
            markdown=is_markdown(document.path),
            anchors=document.anchors or "github",
        )
    except Exception as exc:  # noqa: BLE001 - the other documents go on
        return f"cannot be cut into chunks: {describe_unexpected(exc)}"


def _make_chunk(document: Document, number: int, piece: TextPiece, index: int, count: int) -> Chunk:
    """Return piece ``index`` (from 0) of the ``count`` of ``document`` as a chunk with that number."""
    shared = document.shared_fields()
    if document.url and document.anchors and "#" not in document.url and piece.anchor:
        shared["url"] = f"{document.url}#{quote(piece.anchor)}"  # a section's own, as the site makes anchors
    message = _MESSAGE.match(piece.section) if NEWEST_MESSAGE in document.extra else None
    if message:  # of a thread, which has the date and the writer of its newest message
        author, date = message.groups()
        shared |= {"dated": int(date.replace("-", "")), "extra": {**document.extra, "author": author, "date": date}}
    return Chunk(
        **shared,
        number=number,
        text=piece.text,
        section=piece.section,
        chunk_index=index,
        chunk_count=count,
        path=document.path,
    )
