"""The collections of an index on Chroma's server, and what is asked of them.

Of one called ``waypoint_kb`` there are: ``waypoint_kb``, empty, whose metadata name the current version and the one
before; for each version ``waypoint_kb-VERSION`` with the chunks and ``waypoint_kb-VERSION-facts`` with what is known of
them as a whole. A version without facts is half-written, and nobody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.engines.server.connection import READING, WRITING, Connection, Patience
from knowledge.engines.server.records import StoredChunk, from_record
from knowledge.model.errors import IndexMissing, KnowledgeError, SearchFailed

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection

    from knowledge.model.values import Scalar, Vector, Where

RESULTS = 300
"""Chroma Cloud gives so many records a call, and takes so many."""
HNSW_EFFORT = 200
"""As an embedded collection has it (``knowledge.engines.embedded.client``)."""
CURRENT, BEFORE = "current", "before"


@dataclass(frozen=True, slots=True)
class Database:
    """The collections that belong to the index called ``name``; ``patience`` is that of a read."""

    connection: Connection
    name: str
    patience: Patience = READING

    def current(self) -> tuple[str, str]:
        """The version that is current and the one before it; "" where there is none."""
        with suppress(IndexMissing):
            held = self.described(self.name)
            return str(held.get(CURRENT, "")), str(held.get(BEFORE, ""))
        return "", ""

    def switch(self, version: str) -> None:
        """Let ``version`` be the current one."""
        now, before = self.current()
        held = {CURRENT: version, BEFORE: before if version == now else now}
        self.make(self.name, {CURRENT: version})
        self.describe(self.name, {key: value for key, value in held.items() if value})

    def versions(self) -> list[str]:
        """All versions that there are records of, whole or not."""
        names = self.connection.call(lambda api: [one.name for one in self._all(api)], patience=WRITING)
        own = {name.removeprefix(f"{self.name}-").removesuffix("-facts") for name in names if self._is_own(name)}
        return sorted(own)

    def drop(self, version: str) -> None:
        """Remove ``version``: its facts first, so that nobody opens the rest."""
        for name in (self.facts(version), self.chunks(version)):
            self.remove(name)

    def remove(self, name: str) -> None:
        """Remove the collection ``name``, if it is there."""
        with suppress(IndexMissing):
            self.connection.call(partial(self._dropped, name), patience=WRITING)

    def chunks(self, version: str) -> str:
        """The name of the collection with the chunks of ``version``."""
        return f"{self.name}-{version}"

    def facts(self, version: str) -> str:
        """The name of the collection with the facts of ``version``."""
        return f"{self.name}-{version}-facts"

    def make(self, name: str, metadata: Mapping[str, str]) -> None:
        """Make the collection ``name`` in cosine space, if it is not there."""
        from chromadb.api.collection_configuration import CreateCollectionConfiguration, CreateHNSWConfiguration

        graph = CreateHNSWConfiguration(space="cosine", ef_construction=HNSW_EFFORT, ef_search=HNSW_EFFORT)
        self.connection.call(
            lambda api: api.create_collection(
                name,
                configuration=CreateCollectionConfiguration(hnsw=graph),
                metadata=dict(metadata),
                get_or_create=True,
                tenant=self.connection.address.tenant,
                database=self.connection.address.database,
            ),
            patience=WRITING,
        )

    def described(self, name: str) -> Mapping[str, Any]:
        """The metadata of the collection ``name``. IndexMissing: there is none."""
        found = self.connection.call(lambda api: api.get_collection(name, **self._where), patience=self.patience)
        return found.metadata or {}

    def describe(self, name: str, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of the collection ``name``."""
        self._write(lambda c: c.modify(metadata=dict(metadata)), name)

    def fork(self, name: str, new: str) -> bool:
        """Make ``new`` a copy of the collection ``name`` that shares its data; False where the server cannot."""
        try:
            self._write(lambda c: c.fork(new), name)
        except (SearchFailed, NotImplementedError):
            return False
        return True

    def count(self, name: str) -> int:
        """How many records the collection ``name`` has."""
        return int(self._read(lambda c: c.count(), name))

    def nearest(self, name: str, vector: Vector, *, k: int, where: Where | None) -> tuple[StoredChunk, ...]:
        """The ``k`` chunks nearest to the unit ``vector``, nearest first."""
        if not np.isfinite(vector).all():
            raise SearchFailed("The question's vector is not finite")
        found = self._read(
            lambda c: c.query(
                query_embeddings=np.asarray(vector, dtype=np.float32)[np.newaxis],
                n_results=min(k, RESULTS),
                where=dict(where) if where else None,
                include=["metadatas", "documents"],
            ),
            name,
        )
        return _chunks({key: found[key][0] for key in ("ids", "metadatas", "documents")})

    def get(self, name: str, **which: Any) -> tuple[StoredChunk, ...]:
        """The chunks of ``which`` (Chroma's ``ids``, ``where``, ``where_document``, ``limit``, ``offset``)."""
        return _chunks(self._read(lambda c: c.get(include=["metadatas", "documents"], **which), name))

    def ids(self, name: str, **which: Any) -> list[str]:
        """The ids of the records of ``which``, as ``get`` has it."""
        ids: list[str] = self._read(lambda c: c.get(include=[], **which), name)["ids"]
        return ids

    def scan(self, name: str) -> Iterator[tuple[StoredChunk, ...]]:
        """All chunks of the collection ``name``, in batches; three are read ahead."""
        starts = range(0, self.count(name), RESULTS)
        with ThreadPoolExecutor(3) as pool:
            for some in batched(starts, 3):
                yield from pool.map(lambda start: self.get(name, limit=RESULTS, offset=start), some)

    def raw(self, name: str, **which: Any) -> Mapping[str, Any]:
        """Records with their vectors and documents, as Chroma gives them."""
        found: Mapping[str, Any] = self._read(
            lambda c: c.get(include=["metadatas", "documents", "embeddings"], **which), name
        )
        return found

    def put(
        self,
        name: str,
        ids: Sequence[str],
        vectors: Any,
        metadatas: Sequence[Mapping[str, Scalar]],
        documents: Sequence[str] | None,
    ) -> None:
        """Write records, at most ``RESULTS``; writing the same twice is allowed.

        Of a record that is there those metadata stay that the new one has not.

        Raises:
            KnowledgeError: the server cannot be reached, or refuses them; the message says why.
        """
        try:
            self._write(
                lambda c: c.upsert(
                    ids=list(ids),
                    embeddings=np.asarray(vectors, dtype=np.float32),
                    metadatas=[dict(one) for one in metadatas],
                    documents=list(documents) if documents is not None else None,
                ),
                name,
            )
        except SearchFailed as exc:
            raise KnowledgeError(f"{ids[0]} to {ids[-1]} could not be stored: {exc}") from exc

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove records; those that are not there are passed over."""
        for some in batched(ids, RESULTS):
            self._write(lambda c, some=some: c.delete(ids=list(some)), name)

    def _read(self, work: Any, name: str) -> Any:
        return self.connection.call(lambda api: work(self._collection(api, name)), patience=self.patience)

    def _write(self, work: Any, name: str) -> Any:
        return self.connection.call(lambda api: work(self._collection(api, name)), patience=WRITING)

    def _dropped(self, name: str, api: ServerAPI) -> None:
        api.delete_collection(name, **self._where)
        self.connection.collections.pop(name, None)

    def _collection(self, api: ServerAPI, name: str) -> Collection:
        from chromadb.api.models.Collection import Collection

        known = self.connection.collections
        if (model := known.get(name)) is None:
            known[name] = model = api.get_collection(name, **self._where)
        # Made anew each time: one that holds a client which was closed meanwhile would fail for ever.
        return Collection(client=api, model=model, embedding_function=None)

    def _all(self, api: ServerAPI) -> Iterator[Any]:
        offset = 0
        while page := api.list_collections(limit=RESULTS, offset=offset, **self._where):
            yield from page
            offset += len(page)

    def _is_own(self, name: str) -> bool:
        version = name.removeprefix(f"{self.name}-").removesuffix("-facts")
        return name.startswith(f"{self.name}-") and len(version) == 12 and set(version) <= set("0123456789abcdef")

    @property
    def _where(self) -> dict[str, str]:
        return {"tenant": self.connection.address.tenant, "database": self.connection.address.database}


def _chunks(found: Mapping[str, Any]) -> tuple[StoredChunk, ...]:
    rows = zip(found["ids"], found["metadatas"], found["documents"], strict=True)
    return tuple(from_record(*row) for row in rows)
