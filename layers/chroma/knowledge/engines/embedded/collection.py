"""The adapter to Chroma: one collection of vectors and metadata in one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from knowledge.engines.embedded.client import SYNC_THRESHOLD_RECORDS, create_collection, open_collection
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import KnowledgeError, SearchFailed
from knowledge.model.manifest import SPACE
from knowledge.model.values import Chunk, Where

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection as ChromaCollection

    from knowledge.model.values import Matrix, Vector

BATCH_RECORDS = 1000
"""Records per call, under Chroma's limit of 5,461."""

SQLITE_NAME = "chroma.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What Chroma holds of one chunk. ``document`` is None in our own indexes: their texts are elsewhere.

    ``cosine`` (-1..1) is set by a query, ``vector`` (unit length) when it was asked for.
    """

    id: str
    metadata: dict[str, object]
    document: str | None = None
    cosine: float = 0.0
    vector: Vector | None = None


class Collection:
    """An open collection. Safe to query from several threads; close it to give its files and threads back."""

    def __init__(self, client: Client, collection: ChromaCollection) -> None:
        """Use ``create`` or ``open``."""
        self._client = client
        self._collection = collection
        configuration = collection.configuration_json
        self.space = str((configuration.get("hnsw") or configuration.get("spann") or {}).get("space", "l2"))
        self.embedding_function = _embedding_function(configuration)

    @classmethod
    def create(cls, folder: Path, name: str) -> Self:
        """Make an empty collection in cosine space in ``folder``.

        Raises:
            KnowledgeError: Chroma could not make it, or made it in another space.
        """
        made = cls(*create_collection(folder, name))
        if made.space != SPACE:  # a misplaced setting is ignored in silence
            made.close()
            raise KnowledgeError(f"Chroma created {name!r} in the space {made.space!r} instead of {SPACE!r}")
        return made

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        """Open the collection ``name`` in ``folder``, which must be writable.

        Raises:
            IndexMismatch: there is no collection of that name; the message names those that exist.
            IndexDamaged: Chroma cannot read the folder.
        """
        return cls(*open_collection(folder, name))

    def count(self) -> int:
        """How many chunks it holds."""
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
                    self._collection.upsert(**records)  # said twice, a lone record is flushed too
            except Exception as exc:
                raise KnowledgeError(f"Chroma could not store {batch[0].id} to {batch[-1].id}: {exc}") from exc

    def replace(self, gone: Sequence[str], chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Remove the ids ``gone``, which exist, then add ``chunks``, any number of either; all is on disk then.

        Raises:
            KnowledgeError: Chroma could not write them.
        """
        try:
            for start in range(0, len(gone), BATCH_RECORDS):
                self._collection.delete(ids=list(gone[start : start + BATCH_RECORDS]))
            if not chunks:  # a removal alone is not flushed: records that stay are said again
                found = self._collection.get(limit=SYNC_THRESHOLD_RECORDS, include=["embeddings", "metadatas"])
                for _ in range(SYNC_THRESHOLD_RECORDS):
                    self._collection.upsert(
                        ids=found["ids"], embeddings=found["embeddings"], metadatas=found["metadatas"]
                    )
        except Exception as exc:
            raise KnowledgeError(f"Chroma could not remove {len(gone)} records: {exc}") from exc
        self.add(chunks, vectors)

    def query(
        self,
        vector: Vector,
        *,
        k: int,
        where: Where | None = None,
        with_vectors: bool = False,
        with_documents: bool = False,
    ) -> tuple[Record, ...]:
        """The ``k`` records nearest to the unit vector ``vector``, nearest first; fewer when there are fewer.

        Raises:
            SearchFailed: Chroma refused the query (a malformed ``where``) or failed.
        """
        include = ["metadatas", "distances", *["embeddings"] * with_vectors, *["documents"] * with_documents]
        found = self._query(vector, k=k, where=where, include=include)
        records = _records(
            found["ids"][0],
            found["metadatas"][0],
            found["documents"][0] if with_documents else None,
            found["embeddings"][0] if with_vectors else None,
            [self._cosine(distance) for distance in found["distances"][0]],
        )
        return tuple(records)

    def nearest(self, vector: Vector, *, k: int) -> Sequence[str]:
        """The ids that ``query`` would find, and nothing else; it fails as that does."""
        ids: Sequence[str] = self._query(vector, k=k, where=None, include=[])["ids"][0]
        return ids

    def ids(self, where: Where) -> Sequence[str]:
        """The ids of all records that the filter ``where`` admits, in Chroma's order; it fails as ``query`` does."""
        ids: Sequence[str] = self._read(include=[], where=dict(where))["ids"]
        return ids

    def get(self, ids: Sequence[str], *, with_vectors: bool = False) -> tuple[Record, ...]:
        """The records of ``ids`` that exist, documents included, in Chroma's order."""
        return self._get(with_vectors=with_vectors, ids=list(ids))

    def scan(self, *, with_vectors: bool = False) -> Iterator[Record]:
        """Every record, documents included, in Chroma's order, read in batches."""
        for offset in range(0, self.count(), BATCH_RECORDS):
            yield from self._get(with_vectors=with_vectors, limit=BATCH_RECORDS, offset=offset)

    def peek(self, count: int) -> Matrix:
        """The vectors of the first ``count`` records as they were stored, not brought to unit length."""
        return np.asarray(self._read(include=["embeddings"], limit=count)["embeddings"], dtype=np.float32)

    def close(self) -> None:
        """Give back files, threads and memory. Closing twice is allowed."""
        self._client.close()

    def _query(self, vector: Vector, *, k: int, where: Where | None, include: list[str]) -> Any:
        if not np.isfinite(vector).all():  # Chroma answers NaN with nonsense
            raise SearchFailed("The question's vector is not finite")
        try:
            return self._collection.query(
                query_embeddings=np.asarray(vector, dtype=np.float32)[np.newaxis],
                n_results=k,
                where=dict(where) if where else None,  # type: ignore[arg-type]
                include=include,  # type: ignore[arg-type]
            )
        except Exception as exc:
            raise SearchFailed(f"The query on the index failed: {exc}") from exc

    def _get(self, *, with_vectors: bool, **which: Any) -> tuple[Record, ...]:
        found = self._read(include=["metadatas", "documents", *["embeddings"] * with_vectors], **which)
        vectors = found["embeddings"] if with_vectors else None
        return tuple(_records(found["ids"], found["metadatas"], found["documents"], vectors, None))

    def _read(self, *, include: list[str], **which: Any) -> Any:
        try:
            return self._collection.get(include=include, **which)  # type: ignore[arg-type]
        except Exception as exc:
            raise SearchFailed(f"Reading from the index failed: {exc}") from exc

    def _cosine(self, distance: float) -> float:
        """Plain cosine of two unit vectors from Chroma's distance.

        Chroma's l2 is squared: ``d = 2 (1 - cos)``; ip and cosine are ``d = 1 - cos``.
        """
        cosine = 1 - distance / 2 if self.space == "l2" else 1 - distance
        return min(1.0, max(-1.0, float(cosine)))


def _records(
    ids: Sequence[str], metadatas: Any, documents: Any, vectors: Any, cosines: Sequence[float] | None
) -> Iterator[Record]:
    for row, record_id in enumerate(ids):
        yield Record(
            id=record_id,
            metadata=dict(metadatas[row] or {}),
            document=documents[row] if documents is not None else None,
            cosine=cosines[row] if cosines is not None else 0.0,
            vector=_unit(vectors[row]) if vectors is not None else None,
        )


def _unit(values: Any) -> Vector:
    vector = np.asarray(values, dtype=np.float32)  # Chroma hands out float64
    return np.asarray(vector / (np.linalg.norm(vector) or 1), dtype=np.float32)


def _embedding_function(configuration: dict[str, Any]) -> str | None:
    """The name of the embedding function recorded with a collection, None when there is none."""
    recorded = configuration.get("embedding_function") or {}
    return str(recorded["name"]) if recorded.get("type") == "known" else None
