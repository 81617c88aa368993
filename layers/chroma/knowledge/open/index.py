"""An open index: search by vector, look up chunks by number. Immutable and safe to use from several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.open.collection import BATCH_RECORDS, Collection, Record
from knowledge.open.foreign import check, late_sides, survey
from knowledge.open.manifest import SPACE, Manifest
from knowledge.open.metadata import to_chunk
from knowledge.open.source import Prepared, folder_of, prepare
from knowledge.open.texts import TextStore
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, Sides
from knowledge.search.lexical import Lexical
from knowledge.types import Chunk, Embedder, Hit, Where

if TYPE_CHECKING:
    from knowledge.types import Vector

DEFAULT_COLLECTION = "waypoint_kb"
VERSION_CHARS = 12


class Index:
    """One version of an index, opened by ``open_index``."""

    def __init__(
        self,
        *,
        prepared: Prepared,
        collection: Collection,
        embedder: Embedder,
        texts: TextStore | None,
        sides: Callable[[], Sides | None],
        ids: Mapping[int, str],
        documents: int,
        fields: Mapping[str, str],
    ) -> None:
        """Use ``open_index``. ``texts`` is None for a foreign folder, whose ids ``ids`` maps from numbers."""
        manifest = prepared.manifest
        self.manifest = manifest
        """None for a Chroma folder that was made elsewhere."""
        self.version = manifest.version if manifest else prepared.digest[:VERSION_CHARS]
        self.built_at = manifest.built_at if manifest else None
        """ISO 8601 in UTC; None when unknown."""
        self.embedder = embedder
        self.documents = documents
        self.chunks = len(texts) if texts is not None else len(ids)
        self.fields: Mapping[str, str] = MappingProxyType(dict(fields))
        """Metadata field name -> "str", "int", "float", "bool" or "mixed"."""
        self._prepared = prepared
        self._collection = collection
        self._texts = texts
        self._sides = sides
        self._ids = ids
        self._numbers = {chunk_id: number for number, chunk_id in ids.items()}

    def search(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to the unit vector ``vector``, best first, equals by number.

        Their ``score`` is the plain cosine (-1..1) and ``distance`` is ``1 - cosine``, whatever the collection's
        own space. ``where`` is a Chroma filter (several conditions: below ``$and``).

        Raises:
            SearchFailed: the filter is malformed, or Chroma failed.
        """
        records = self._collection.query(
            vector, k=k, where=where, with_vectors=with_vectors, with_documents=self._texts is None
        )
        hits = [
            Hit(
                chunk=self._chunk(record),
                score=record.cosine,
                distance=1 - record.cosine,
                parts={"dense": record.cosine},
                vector=record.vector,
            )
            for record in records
        ]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.number)))

    @property
    def lexical(self) -> Lexical | None:
        """The BM25 side; None for an index made before there was one."""
        return sides.lexical if (sides := self._sides()) is not None else None

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        """The ``k`` chunks nearest to ``vector`` and the ``k`` best by BM25 for ``text``, each with both scores.

        ``text`` and its unit vector are the question. A chunk without any of its words is no BM25 candidate.
        ``where`` binds both sides; means and deviations are of the whole collection all the same.

        Raises:
            IndexMismatch: the index has no BM25 side that this program can read.
            SearchFailed: the filter is malformed, the vector unusable, or Chroma failed.
        """
        if (sides := self._sides()) is None:
            raise IndexMismatch("The index has no BM25 side for a hybrid search. Run: ragctl ingest PATH")
        return sides.candidates(self._collection, text, vector, k=k, where=where)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """The chunks of ``numbers``, in that order; SearchFailed when there is no such chunk, or Chroma failed."""
        wanted = [int(number) for number in numbers]
        ids = [self._ids.get(number, f"id_{number}") for number in wanted]
        records = self._collection.get(ids) if ids else ()  # Chroma takes no ids for no condition
        found = {chunk.number: chunk for chunk in map(self._chunk, records)}
        try:
            return tuple(found[number] for number in wanted)
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    def chunk(self, number: int) -> Chunk | None:
        """The chunk of that number, None when there is none."""
        if (number not in self._texts) if self._texts is not None else (number not in self._ids):
            return None
        return self.fetch([number])[0]

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every chunk, by number, read in batches."""
        numbers = list(self._texts if self._texts is not None else sorted(self._ids))
        for start in range(0, len(numbers), BATCH_RECORDS):
            yield from self.fetch(numbers[start : start + BATCH_RECORDS])

    def close(self) -> None:
        """Give back files, threads, memory and the private folder. Closing twice is allowed."""
        self._collection.close()
        if self._texts is not None:
            self._texts.close()
        self._prepared.close()

    def _chunk(self, record: Record) -> Chunk:
        try:
            if self._texts is None:
                return to_chunk(record.metadata, number=self._numbers[record.id], text=record.document or "")
            number = int(record.id.removeprefix("id_"))
            return to_chunk(record.metadata, number=number, text=self._texts.get(number))
        except (KeyError, ValueError) as exc:
            raise SearchFailed(f"The index knows no text for {record.id!r}") from exc


def open_index(
    uri: str | Path,
    *,
    embedder: Embedder,
    collection: str = DEFAULT_COLLECTION,
    scratch: Path | None = None,
    warm: bool = True,
) -> Index:
    """Open the index in the folder (or ``file://`` URI) ``uri`` for questions embedded by ``embedder``.

    The source is only read. With ``warm`` a first query is made, so that no request pays for loading the vectors.
    A Chroma folder without our manifest opens when its unit vectors have 384 dimensions and its embedding function
    is Chroma's default or none; its texts are Chroma's documents.

    Raises:
        IndexMissing, IndexDamaged, IndexUnavailable: see ``source.prepare``.
        IndexMismatch: another model, dimensions, space, collection name or format; the message names both sides.
    """
    prepared = prepare(folder_of(uri), scratch_root=scratch)
    closers: list[Callable[[], None]] = [prepared.close]
    try:
        if prepared.manifest is not None:
            _check_manifest(prepared.manifest, embedder, collection)
        opened = Collection.open(prepared.chroma, collection)
        closers.append(opened.close)
        index = _own(prepared, opened, embedder) if prepared.manifest else _foreign(prepared, opened, embedder)
        closers.append(index.close)
        if warm:
            _warm(index)
    except BaseException:
        for close in reversed(closers):
            close()
        raise
    return index


def _own(prepared: Prepared, collection: Collection, embedder: Embedder) -> Index:
    manifest = prepared.manifest
    assert manifest is not None  # noqa: S101 - the caller asked
    if collection.space != manifest.space:
        raise IndexMismatch(f"The collection's space is {collection.space!r}, its manifest says {manifest.space!r}")
    texts = TextStore(prepared.data)
    try:
        for what, count in (("vectors", collection.count()), ("texts", len(texts))):
            if count != manifest.chunks:
                raise IndexDamaged(
                    f"The index has {count} {what} for {manifest.chunks} chunks. Run: ragctl ingest PATH"
                )
        sides = Sides.open(prepared.data, manifest, texts.numbers)
    except IndexDamaged:
        texts.close()
        raise
    return Index(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=texts,
        sides=lambda: sides,
        ids={},
        documents=manifest.documents,
        fields=manifest.fields,
    )


def _foreign(prepared: Prepared, collection: Collection, embedder: Embedder) -> Index:
    check(collection, embedder)
    found = survey(collection)
    return Index(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=None,
        sides=late_sides(collection, found.ids, prepared.chroma),
        ids=found.ids,
        documents=found.documents,
        fields=found.fields,
    )


def _check_manifest(manifest: Manifest, embedder: Embedder, collection: str) -> None:
    for what, theirs, ours in (
        ("embedding model", manifest.model, embedder.model),
        ("dimensions", manifest.dimensions, embedder.dimensions),
        ("space", manifest.space, SPACE),
        ("collection", manifest.collection, collection),
    ):
        if theirs != ours:
            raise IndexMismatch(
                f"The index was made with {what} {theirs!r}, this program uses {ours!r}. Run: ragctl ingest PATH"
            )


def _warm(index: Index) -> None:
    """The first query loads the vectors; a failure here is one that every request would meet."""
    vector = np.zeros(index.embedder.dimensions, dtype=np.float32)
    vector[0] = 1
    try:
        index.search(vector, k=1)
    except SearchFailed as exc:
        raise IndexDamaged(f"The index does not answer: {exc}. Run: ragctl ingest PATH") from exc
