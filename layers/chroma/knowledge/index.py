"""An open index: search by vector, look up chunks by number. Immutable and safe to use from several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.collection import BATCH_RECORDS, Collection, Record
from knowledge.errors import IndexDamaged, IndexMismatch, SearchFailed
from knowledge.foreign import check, survey
from knowledge.manifest import SPACE, Manifest
from knowledge.metadata import to_chunk
from knowledge.source import Prepared, folder_of, prepare
from knowledge.store import TextStore
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
        self._ids = ids
        self._numbers = {chunk_id: number for number, chunk_id in ids.items()}

    def search(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to the unit vector ``vector``, best first, equals by number.

        Their ``score`` is the plain cosine (-1..1) and ``distance`` is ``1 - cosine``, whatever the collection's
        own space. ``where`` is a Chroma filter (several conditions: ``metadata.where_all``).

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

    def chunk(self, number: int) -> Chunk | None:
        """The chunk of that number, None when there is none."""
        if (number not in self._texts) if self._texts is not None else (number not in self._ids):
            return None
        records = self._collection.get([self._ids.get(number, f"id_{number}")])
        return self._chunk(records[0]) if records else None

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every chunk, by number, read in batches."""
        numbers = list(self._texts if self._texts is not None else sorted(self._ids))
        for start in range(0, len(numbers), BATCH_RECORDS):
            batch = numbers[start : start + BATCH_RECORDS]
            chunks = map(self._chunk, self._collection.get([self._ids.get(n, f"id_{n}") for n in batch]))
            yield from sorted(chunks, key=lambda chunk: chunk.number)

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
    for what, count in (("vectors", collection.count()), ("texts", len(texts))):
        if count != manifest.chunks:
            texts.close()
            raise IndexDamaged(f"The index has {count} {what} for {manifest.chunks} chunks. Run: ragctl ingest PATH")
    return Index(
        prepared=prepared,
        collection=collection,
        embedder=embedder,
        texts=texts,
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
