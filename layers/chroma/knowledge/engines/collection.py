"""A Chroma collection of vectors and metadata in one folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from knowledge.engines.chroma import collection_configuration, open_folder, query_arguments
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import IndexDamaged, IndexMismatch, KnowledgeError, SearchFailed
from knowledge.model.manifest import SPACE
from knowledge.model.values import Chunk, Where

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection as ChromaCollection

    from knowledge.model.values import Matrix, Vector

BATCH_RECORDS = 1000
"""Records per call, under Chroma's limit of 5,461."""

SYNC_THRESHOLD_RECORDS = 2
"""Chroma flushes HNSW after a call that adds this many (2 is the least), so every batch is on disk when it returns.
What is not flushed is replayed from the log at the first query after each open: up to 126 ms, and it writes to the
HNSW files, which the opener only links to."""

SQLITE_NAME = "chroma.sqlite3"

_RECORD = ("metadatas", "documents")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromaRecord:
    """A chunk as Chroma stores it. ``document`` is None in our own indexes: their texts are elsewhere.

    ``cosine`` (-1..1) is set by a query, ``vector`` (unit length) by a query too, and where it was asked for.
    """

    id: str
    metadata: dict[str, object]
    document: str | None = None
    cosine: float = 0.0
    vector: Vector | None = None


class Collection:
    """An open collection. Safe to query from several threads; close it to release its files and threads."""

    def __init__(self, client: Client, collection: ChromaCollection) -> None:
        """Use ``create`` or ``open``."""
        self._client = client
        self._collection = collection
        configuration = collection.configuration_json
        self.space = str((configuration.get("hnsw") or configuration.get("spann") or {}).get("space", "l2"))
        recorded = configuration.get("embedding_function") or {}
        self.embedding_function = str(recorded["name"]) if recorded.get("type") == "known" else None

    @classmethod
    def create(cls, folder: Path, name: str) -> Self:
        """Create an empty collection in cosine space in ``folder``.

        Raises:
            IndexDamaged: Chroma cannot read the folder.
            KnowledgeError: Chroma could not create it, or created it in another space.
        """
        client = open_folder(folder)
        try:
            configuration = collection_configuration(sync_threshold=SYNC_THRESHOLD_RECORDS)
            created = client.create_collection(name, embedding_function=None, configuration=configuration)
        except Exception as exc:
            client.close()
            raise KnowledgeError(f"Chroma could not create the collection {name!r}: {exc}") from exc
        collection = cls(client, created)
        if collection.space != SPACE:  # a misplaced setting is ignored in silence
            collection.close()
            raise KnowledgeError(f"Chroma created {name!r} in the space {collection.space!r} instead of {SPACE!r}")
        return collection

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        """Open the collection ``name`` in ``folder``, which must be writable.

        Raises:
            IndexMismatch: there is no collection of that name; the message names those that exist.
            IndexDamaged: Chroma cannot read the folder.
        """
        client = open_folder(folder)
        try:
            found = {collection.name: collection for collection in client.list_collections()}
        except Exception as exc:
            client.close()
            raise IndexDamaged(f"Chroma cannot open the index: {exc}. Run: ragctl ingest PATH") from exc
        if name not in found:
            client.close()
            known = ", ".join(map(repr, sorted(found))) or "none"
            raise IndexMismatch(f"The index has no collection {name!r}; it has {known}")
        return cls(client, found[name])

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self._collection.count())

    def add(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Store the vectors and metadata of ``chunks``, not their texts; any number of them.

        Raises:
            KnowledgeError: Chroma could not write them.
        """
        for start in range(0, len(chunks), BATCH_RECORDS):
            batch = chunks[start : start + BATCH_RECORDS]
            records: dict[str, Any] = {
                "ids": [chunk.id for chunk in batch],
                "embeddings": vectors[start : start + len(batch)],
                "metadatas": [to_metadata(chunk) for chunk in batch],
            }
            try:
                self._collection.add(**records)
                if len(batch) < SYNC_THRESHOLD_RECORDS:
                    self._collection.upsert(**records)  # written twice, a single record is flushed too
            except Exception as exc:
                raise KnowledgeError(f"Chroma could not store {batch[0].id} to {batch[-1].id}: {exc}") from exc

    def replace(self, removed: Sequence[str], chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Remove the ids ``removed``, which exist, then add ``chunks``, any number of either; all is on disk then.

        Raises:
            KnowledgeError: Chroma could not write them.
        """
        try:
            for start in range(0, len(removed), BATCH_RECORDS):
                self._collection.delete(ids=list(removed[start : start + BATCH_RECORDS]))
            if not chunks:  # a removal alone is not flushed: some remaining records are written again
                found = self._collection.get(limit=SYNC_THRESHOLD_RECORDS, include=["embeddings", "metadatas"])
                for _ in range(SYNC_THRESHOLD_RECORDS):
                    self._collection.upsert(
                        ids=found["ids"], embeddings=found["embeddings"], metadatas=found["metadatas"]
                    )
        except Exception as exc:
            raise KnowledgeError(f"Chroma could not remove {len(removed)} records: {exc}") from exc
        self.add(chunks, vectors)

    def query(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[ChromaRecord, ...]:
        """Return the ``k`` records nearest to the unit vector ``vector``, nearest first; fewer if there are fewer.

        Raises:
            SearchFailed: Chroma refused the query (a malformed ``where``) or failed.
        """
        found = self._query(vector, k=k, where=where, include=["distances", *_RECORD, "embeddings"])
        # Of unit vectors: Chroma's l2 is squared, d = 2 (1 - cos); ip and cosine are d = 1 - cos.
        scale = 0.5 if self.space == "l2" else 1.0
        cosines = [min(1.0, max(-1.0, float(1 - scale * distance))) for distance in found["distances"][0]]
        return _records({key: found[key][0] for key in ("ids", *_RECORD, "embeddings")}, cosines)

    def nearest(self, vector: Vector, *, k: int) -> Sequence[str]:
        """Return the ids that ``query`` finds, without their records; it fails as ``query`` does."""
        ids: Sequence[str] = self._query(vector, k=k, where=None, include=[])["ids"][0]
        return ids

    def ids(self, where: Where) -> Sequence[str]:
        """Return the ids of all records within the filter ``where``, in Chroma's order; it fails as ``query`` does."""
        ids: Sequence[str] = self._get(include=[], where=dict(where))["ids"]
        return ids

    def get(self, ids: Sequence[str], *, with_vectors: bool = False) -> tuple[ChromaRecord, ...]:
        """Return the records of ``ids`` that exist, documents included, in Chroma's order."""
        return _records(self._get(include=[*_RECORD, *["embeddings"] * with_vectors], ids=list(ids)))

    def scan(self, *, with_vectors: bool = False) -> Iterator[ChromaRecord]:
        """Yield every record, documents included, in Chroma's order, read in batches."""
        include = [*_RECORD, *["embeddings"] * with_vectors]
        for offset in range(0, self.count(), BATCH_RECORDS):
            yield from _records(self._get(include=include, limit=BATCH_RECORDS, offset=offset))

    def peek(self, count: int) -> Matrix:
        """Return the vectors of the first ``count`` records as they were stored, not normalised."""
        return np.asarray(self._get(include=["embeddings"], limit=count)["embeddings"], dtype=np.float32)

    def close(self) -> None:
        """Release files, threads and memory. Closing twice is allowed."""
        self._client.close()

    def _query(self, vector: Vector, *, k: int, where: Where | None, include: list[str]) -> Any:
        arguments = query_arguments(vector, k, where)
        try:
            return self._collection.query(**arguments, include=include)  # type: ignore[arg-type]
        except Exception as exc:
            raise SearchFailed(f"The query on the index failed: {exc}") from exc

    def _get(self, *, include: list[str], **selection: Any) -> Any:
        try:
            return self._collection.get(include=include, **selection)  # type: ignore[arg-type]
        except Exception as exc:
            raise SearchFailed(f"Reading from the index failed: {exc}") from exc


def normalise(vector: Any) -> Vector:
    """Return a vector that Chroma gave, as float64 and only about of unit length, as a unit vector."""
    values = np.asarray(vector, dtype=np.float32)
    return np.asarray(values / (np.linalg.norm(values) or 1), dtype=np.float32)


def _records(found: Mapping[str, Any], cosines: Sequence[float] | None = None) -> tuple[ChromaRecord, ...]:
    vectors = found["embeddings"]
    return tuple(
        ChromaRecord(
            id=record_id,
            metadata=dict(found["metadatas"][row] or {}),
            document=found["documents"][row],
            cosine=cosines[row] if cosines is not None else 0.0,
            vector=normalise(vectors[row]) if vectors is not None else None,
        )
        for row, record_id in enumerate(found["ids"])
    )
