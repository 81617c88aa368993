"""What an index will hold: documents cut into numbered chunks, and the text of each that is embedded. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
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
from knowledge.model.manifest import SEED_RECIPE, Source
from knowledge.model.values import Chunk, Document, Failure

if TYPE_CHECKING:
    from knowledge.model.values import Vector

RECIPE = 5
"""Raise it when the cutting or ``embed_text`` changes: every chunk is then cut and embedded anew."""

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
    are not all read at once.
    """

    next_number: int = 1
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)
    known: KnownReadings = field(default_factory=KnownReadings)
    sources: Mapping[str, Source] = field(default_factory=dict)
    chunks: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    shared_titles: frozenset[str] = frozenset()


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
    free = _free(previous)
    stored = list(_distinct(map(storable, documents)))
    theirs = owned_elsewhere(stored, previous.sources, {*lost, *emptied})
    lost = {*lost, *(document.path for document in stored if document.doc_id in theirs)}
    chunks: list[Chunk] = []
    sources: list[Source] = []
    errors: dict[str, Failure] = {}
    next_number = previous.next_number
    for given, document, cut in zip(
        documents, stored, run(partial(_cut, max_chars=max_chars, overlap=overlap, recipe=recipe), stored), strict=True
    ):
        owner = theirs.get(document.doc_id)
        pieces = f"has the doc_id {document.doc_id!r} of {owner!r}, which has no text to read now" if owner else cut
        if isinstance(pieces, str):
            errors[document.doc_id] = Failure(document.path, pieces)
            continue
        made, next_number = _numbered(document, pieces, free, next_number)
        chunks += made
        sources.append(Source(path=given.path, digest=given.digest, doc_id=given.doc_id, chunks=len(pieces)))
    read = {source.doc_id for source in sources}
    stays = [source for source in previous.sources.values() if _stays(source, errors, read, lost)]
    there = read | {source.doc_id for source in stays}
    others = (source for source in previous.sources.values() if source.doc_id not in there)
    held, said = held_by(emptied, others, previous.chunks, {chunk.text for chunk in chunks})
    stays += held
    return Plan(
        chunks=_by_number(chunks, *(previous.chunks.get(source.doc_id, ()) for source in stays)),
        next_number=next_number,
        sources=(*sources, *stays),
        kept=frozenset(source.doc_id for source in stays),
        failed=tuple(errors.values()),
        emptied=said,
    )


def _free(previous: Previous) -> dict[tuple[str, str], list[int]]:
    free: dict[tuple[str, str], list[int]] = defaultdict(list)
    for key, numbers in previous.numbers.items():
        free[key] = sorted(numbers, reverse=True)
    return free


def _numbered(
    document: Document, pieces: Sequence[Piece], free: Mapping[tuple[str, str], list[int]], next_number: int
) -> tuple[list[Chunk], int]:
    """The chunks of ``document``, which take what is ``free`` of its numbers, and the next number."""
    chunks = []
    for index, piece in enumerate(pieces):
        if known := free[document.doc_id, piece.text]:
            number = known.pop()
        else:
            number, next_number = next_number, next_number + 1
        chunks.append(chunk_of(document, number, piece, index, len(pieces)))
    return chunks, next_number


def _stays(source: Source, errors: Container[str], read: Container[str], lost: Collection[str]) -> bool:
    return source.doc_id in errors or (source.doc_id not in read and is_below(source.path, lost))


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
