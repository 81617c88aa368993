"""What an index will hold: documents cut into numbered chunks, and the text of each that is embedded. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from knowledge.build.keeping import held_by, is_below, owned_elsewhere
from knowledge.build.reading import KnownReadings
from knowledge.build.stored import chunk_of, storable
from knowledge.cut.chunking import Piece, is_markdown, split
from knowledge.cut.embedding_text import embed_text
from knowledge.cut.seed import split_seed
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import SourceUnreadable, unexpected
from knowledge.model.manifest import RECIPE, SEED_RECIPE, Source
from knowledge.model.values import Chunk, Document, Failure

if TYPE_CHECKING:
    from knowledge.model.values import Vector

VERSION_CHARS = 12

type Run = Callable[[Callable[[Document], Cut], Sequence[Document]], Iterable[Cut]]
"""Calls a function with each of many documents and gives the results in order, perhaps from several processes."""

type Cut = tuple[Piece, ...] | str
"""A document's pieces, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """What a rebuild keeps of the index before it.

    ``numbers`` gives the chunk numbers of a ``(doc_id, text)``, ascending; ``vectors`` the unit vector of an
    ``embed_key``, ``known`` what was read of one. ``next_number`` is the first number that no chunk ever had.
    ``sources`` and ``chunks`` are those of each doc_id. ``shared_titles`` are titles of several documents, where these
    are not all read at once. ``same_cut``: documents were cut as they would be now.
    """

    next_number: int = 1
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)
    known: KnownReadings = field(default_factory=KnownReadings)
    sources: Mapping[str, Source] = field(default_factory=dict)
    chunks: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    shared_titles: frozenset[str] = frozenset()
    same_cut: bool = False

    def chunks_of(self, document: Document) -> tuple[Chunk, ...] | None:
        """The chunks of ``document`` where it is as it was, else None."""
        source = self.sources.get(document.doc_id)
        if not self.same_cut or source is None or (source.path, source.digest) != (document.path, document.digest):
            return None
        chunks = self.chunks.get(document.doc_id, ())
        return chunks if len(chunks) == source.chunks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The chunks of the index to be, by number.

    ``sources`` are its documents: those that were cut, in the order given, then those that stay as they were, whose
    doc_ids are in ``kept``. ``failed`` names documents that could not be cut or embedded, ``emptied`` places without
    text that held some.
    """

    chunks: tuple[Chunk, ...]
    next_number: int
    sources: tuple[Source, ...]
    kept: frozenset[str] = frozenset()
    failed: tuple[Failure, ...] = ()
    emptied: tuple[Failure, ...] = ()

    def without(self, errors: Mapping[str, str], previous: Previous) -> Plan:
        """The plan with the documents of these doc_ids as they were before, if they were there.

        ``errors`` tells of each doc_id what is wrong with it.
        """
        paths = {source.doc_id: source.path for source in self.sources}
        again = [doc_id for doc_id in errors if doc_id in previous.sources and doc_id not in self.kept]
        return replace(
            self,
            chunks=_by_number(
                [chunk for chunk in self.chunks if chunk.doc_id not in errors],
                *(previous.chunks.get(d, ()) for d in again),
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
    previous: Previous,
    max_chars: int,
    overlap: int,
    recipe: int = RECIPE,
    lost: Collection[str] = (),
    emptied: Mapping[str, Failure] = MappingProxyType({}),
    run: Run = map,
) -> Plan:
    """Cut ``documents`` into chunks of at most ``max_chars`` characters, in the way of ``recipe``, and number them.

    A chunk keeps its number while its text stays in its document; of equal texts the first keep the lowest. Whatever
    cutting a document raises is that document's failure. Documents of the index before stay as they were where they
    cannot be cut now, or where ``lost`` or ``emptied`` holds their path or a folder above it (``""``: all). What an
    emptied place held goes where its text is in other documents now.

    Raises:
        SourceUnreadable: two documents have the same doc_id.
    """
    stored = list(_distinct(map(storable, documents)))
    theirs = owned_elsewhere(stored, previous.sources, {*lost, *emptied})
    lost = {*lost, *(document.path for document in stored if document.doc_id in theirs)}
    same = [previous.chunks_of(document) for document in documents]
    changed = [document for document, known in zip(stored, same, strict=True) if known is None]
    cuts = iter(run(partial(_cut, max_chars=max_chars, overlap=overlap, recipe=recipe), changed))
    made = _Numbering(previous)
    for given, document, known in zip(documents, stored, same, strict=True):
        if known is not None:
            made.keep(given, known)
            continue
        cut = next(cuts)
        if owner := theirs.get(document.doc_id):
            cut = f"has the doc_id {document.doc_id!r} of {owner!r}, which has no text to read now"
        made.take(given, document, cut)
    stays, said = _staying(previous, made, lost, emptied)
    return Plan(
        chunks=_by_number(made.chunks, *(previous.chunks.get(source.doc_id, ()) for source in stays)),
        next_number=made.next_number,
        sources=(*made.sources, *stays),
        kept=frozenset(source.doc_id for source in stays),
        failed=tuple(made.errors.values()),
        emptied=said,
    )


class _Numbering:
    """The chunks, the sources and the errors (by doc_id) of the documents so far."""

    def __init__(self, previous: Previous) -> None:
        self._previous = previous
        self._free = {key: sorted(numbers, reverse=True) for key, numbers in previous.numbers.items()}
        self.chunks: list[Chunk] = []
        self.sources: list[Source] = []
        self.errors: dict[str, Failure] = {}
        self.next_number = previous.next_number

    def keep(self, document: Document, chunks: Sequence[Chunk]) -> None:
        """Add a document that is as it was."""
        self.chunks += chunks
        self.sources.append(self._previous.sources[document.doc_id])

    def take(self, given: Document, stored: Document, cut: Cut) -> None:
        """Add a document that was cut; its chunks take the numbers that its texts had."""
        if isinstance(cut, str):
            self.errors[stored.doc_id] = Failure(stored.path, cut)
            return
        for index, piece in enumerate(cut):
            if known := self._free.get((stored.doc_id, piece.text)):
                number = known.pop()
            else:
                number, self.next_number = self.next_number, self.next_number + 1
            self.chunks.append(chunk_of(stored, number, piece, index, len(cut)))
        self.sources.append(Source(path=given.path, digest=given.digest, doc_id=given.doc_id, chunks=len(cut)))


def _staying(
    previous: Previous, made: _Numbering, lost: Collection[str], emptied: Mapping[str, Failure]
) -> tuple[list[Source], tuple[Failure, ...]]:
    """The sources that stay as they were, and what is said of ``emptied`` places that held some."""
    read = {source.doc_id for source in made.sources}
    stays, others = [], []
    for source in previous.sources.values():
        if source.doc_id in made.errors or (source.doc_id not in read and is_below(source.path, lost)):
            stays.append(source)
        elif source.doc_id not in read:
            others.append(source)
    held, said = held_by(emptied, others, previous.chunks, {chunk.text for chunk in made.chunks})
    return stays + held, said


def _by_number(*chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    return tuple(sorted(chain(*chunks), key=lambda chunk: chunk.number))


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


def _cut(document: Document, *, max_chars: int, overlap: int, recipe: int) -> Cut:
    """The document's pieces, or why there are none."""
    try:
        if recipe == SEED_RECIPE:
            return split_seed(document.text, max_chars=max_chars, overlap=overlap)
        return split(
            document.text,
            title=document.title,
            max_chars=max_chars,
            overlap=overlap,
            markdown=is_markdown(document.path),
            anchors=document.anchors or "github",
        )
    except Exception as exc:  # noqa: BLE001 - the other documents go on
        return f"cannot be cut into chunks: {unexpected(exc)}"
