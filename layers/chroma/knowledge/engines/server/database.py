"""The collections of an index on Chroma's server, and the archive of its facts.

An index called ``waypoint_kb`` has: ``waypoint_kb``, empty, whose metadata name the current version and the previous
one; for each version ``waypoint_kb-VERSION`` with the chunks and ``waypoint_kb-VERSION-facts`` with its facts: a
folder of data about all chunks together. A version without facts is half-written and is never opened.

The facts are an archive in base64, in records of up to ``PIECES`` values. The collection's metadata hold its sha256 and
the number of records, and are written last.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import batched
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.engines.chroma import collection_configuration, query_arguments
from knowledge.engines.server.connection import READ_POLICY, WRITE_POLICY, CallPolicy, Connection
from knowledge.engines.server.records import VALUE_CHARS, StoredChunk, from_record
from knowledge.model.errors import (
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    IndexUnavailable,
    KnowledgeError,
    SearchFailed,
)

if TYPE_CHECKING:
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection

    from knowledge.engines.server.address import ServerAddress
    from knowledge.model.values import Scalar, Vector, Where

RESULTS = 300
"""Records per call that Chroma Cloud gives and takes."""
CURRENT, BEFORE = "current", "before"
PIECES = 24
"""Values in a record of facts; Chroma Cloud takes 32."""
FACTS_AT_ONCE = 20
"""Records of facts per call: 2 MB."""
SHA256, RECORDS, MODEL, DIMENSIONS = "sha256", "records", "model", "dimensions"
"""The metadata of a collection of facts."""


@dataclass(frozen=True, slots=True)
class Database:
    """The collections of the index called ``name``; ``policy`` is that of its reads."""

    connection: Connection
    name: str
    policy: CallPolicy = READ_POLICY

    def current(self) -> tuple[str, str]:
        """Return the current version and the previous one, "" where there is none."""
        with suppress(IndexMissing):
            metadata = self.metadata(self.name)
            return str(metadata.get(CURRENT, "")), str(metadata.get(BEFORE, ""))
        return "", ""

    def version_at(self, address: ServerAddress) -> str:
        """Return the version that ``address`` names, else the current one. IndexMissing: there is none."""
        version = address.version or self.current()[0]
        if not version:
            raise IndexMissing(
                f"There is no index {self.name!r} at {address}. Run: ragctl ingest PATH --index {address}"
            )
        return version

    def switch(self, version: str) -> None:
        """Make ``version`` the current one. Keep the previous one for its readers, and drop all others."""
        now, before = self.current()
        metadata = {CURRENT: version, BEFORE: before if version == now else now}
        self.create(self.name, {CURRENT: version})
        self.set_metadata(self.name, {key: value for key, value in metadata.items() if value})
        for other in set(self.versions()) - set(self.current()):
            self.drop(other)

    def versions(self) -> list[str]:
        """Return all versions that have records, whole or not."""

        def names(api: ServerAPI) -> list[str]:
            found: list[str] = []
            while page := api.list_collections(limit=RESULTS, offset=len(found), **self._where):
                found += [collection.name for collection in page]
            return found

        pattern = re.compile(rf"{re.escape(self.name)}-([0-9a-f]{{12}})(-facts)?")
        matches = map(pattern.fullmatch, self.connection.call(names, policy=WRITE_POLICY))
        return sorted({match[1] for match in matches if match})

    def drop(self, version: str) -> None:
        """Remove ``version``: first its facts, so that no reader opens the rest."""
        for name in (self.facts(version), self.chunks(version)):
            self.remove(name)

    def remove(self, name: str) -> None:
        """Remove the collection ``name``, if it exists."""

        def delete(api: ServerAPI) -> None:
            api.delete_collection(name, **self._where)
            self.connection.collections.pop(name, None)

        with suppress(IndexMissing):
            self.connection.call(delete, policy=WRITE_POLICY)

    def chunks(self, version: str) -> str:
        """Return the name of the collection of ``version``'s chunks."""
        return f"{self.name}-{version}"

    def facts(self, version: str) -> str:
        """Return the name of the collection of ``version``'s facts."""
        return f"{self.name}-{version}-facts"

    def create(self, name: str, metadata: Mapping[str, str]) -> None:
        """Create the collection ``name`` in cosine space, if it does not exist."""
        configuration = collection_configuration()
        options: dict[str, Any] = {"configuration": configuration, "metadata": dict(metadata), **self._where}
        self.connection.call(
            lambda api: api.create_collection(name, get_or_create=True, **options), policy=WRITE_POLICY
        )

    def metadata(self, name: str) -> Mapping[str, Any]:
        """Return the metadata of the collection ``name``. IndexMissing: it does not exist."""
        found = self.connection.call(lambda api: api.get_collection(name, **self._where), policy=self.policy)
        return found.metadata or {}

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of the collection ``name``."""
        self._write(name, lambda collection: collection.modify(metadata=dict(metadata)))

    def fork(self, name: str, new: str) -> bool:
        """Copy the collection ``name`` to ``new``, sharing its data. Return False where the server cannot."""
        try:
            self._write(name, lambda collection: collection.fork(new))
        except (SearchFailed, NotImplementedError):
            return False
        return True

    def count(self, name: str) -> int:
        """Return the number of records in the collection ``name``."""
        return int(self._read(name, lambda collection: collection.count()))

    def nearest(self, name: str, vector: Vector, *, k: int, where: Where | None) -> tuple[StoredChunk, ...]:
        """Return the ``k`` chunks nearest to the unit ``vector``, nearest first."""
        arguments = query_arguments(vector, min(k, RESULTS), where)
        found = self._read(name, lambda collection: collection.query(**arguments, include=["metadatas", "documents"]))
        return _chunks({key: found[key][0] for key in ("ids", "metadatas", "documents")})

    def get(self, name: str, **selection: Any) -> tuple[StoredChunk, ...]:
        """Return selected chunks; ``selection`` is of Chroma's ids, where, where_document, limit and offset."""
        return _chunks(self._read(name, lambda c: c.get(include=["metadatas", "documents"], **selection)))

    def get_chunks(self, name: str, numbers: Sequence[int]) -> Iterator[StoredChunk]:
        """Yield the chunks of ``numbers`` that exist, in any order, any number of them."""
        for batch in batched(numbers, RESULTS):
            yield from self.get(name, ids=[f"id_{number}" for number in batch])

    def ids(self, name: str, **selection: Any) -> list[str]:
        """Return the ids of the records that ``get`` selects."""
        ids: list[str] = self._read(name, lambda collection: collection.get(include=[], **selection))["ids"]
        return ids

    def scan(self, name: str) -> Iterator[tuple[StoredChunk, ...]]:
        """Yield all chunks of the collection ``name`` in batches; three are read ahead."""
        starts = range(0, self.count(name), RESULTS)
        with ThreadPoolExecutor(3) as pool:
            for batch in batched(starts, 3):
                yield from pool.map(lambda start: self.get(name, limit=RESULTS, offset=start), batch)

    def raw(self, name: str, **selection: Any) -> Mapping[str, Any]:
        """Return selected records with their vectors and documents, as Chroma gives them."""
        fields = ["metadatas", "documents", "embeddings"]
        found: Mapping[str, Any] = self._read(name, lambda c: c.get(include=fields, **selection))
        return found

    def put(
        self,
        name: str,
        ids: Sequence[str],
        vectors: Any,
        metadatas: Sequence[Mapping[str, Scalar]],
        documents: Sequence[str] | None,
    ) -> None:
        """Write records, at most ``RESULTS``; KnowledgeError: the server cannot be reached, or refuses them.

        An existing record keeps the metadata that the new one does not set.
        """
        try:
            self._write(
                name,
                lambda collection: collection.upsert(
                    ids=list(ids),
                    embeddings=np.asarray(vectors, dtype=np.float32),
                    metadatas=[dict(metadata) for metadata in metadatas],
                    documents=list(documents) if documents is not None else None,
                ),
            )
        except SearchFailed as exc:
            raise KnowledgeError(f"{ids[0]} to {ids[-1]} could not be stored: {exc}") from exc

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove records; ids that do not exist are ignored."""
        for batch in batched(ids, RESULTS):
            self._write(name, methodcaller("delete", ids=list(batch)))

    def save_facts(self, version: str, folder: Path, *, model: str, dimensions: int) -> None:
        """Write the files of ``folder`` as the facts of ``version``, which can be opened then."""
        name = self.facts(version)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=6) as files:
            files.add(folder, arcname=".")
        packed = base64.b64encode(archive.getvalue()).decode()
        values = [packed[start : start + VALUE_CHARS] for start in range(0, len(packed), VALUE_CHARS)]
        records = [{f"p{place:02}": value for place, value in enumerate(some)} for some in batched(values, PIECES)]
        self.remove(name)  # what a killed run left of it
        self.create(name, {RECORDS: "0"})
        for batch in batched(enumerate(records), FACTS_AT_ONCE):
            ids, metadatas = [f"f{number}" for number, _ in batch], [record for _, record in batch]
            self.put(name, ids, [[1.0, 0.0]] * len(batch), metadatas, None)
        digest = hashlib.sha256(packed.encode()).hexdigest()
        metadata = {SHA256: digest, RECORDS: str(len(records)), MODEL: model, DIMENSIONS: str(dimensions)}
        self.set_metadata(name, metadata)

    def load_facts(self, version: str, folder: Path) -> None:
        """Unpack the facts of ``version`` to the new ``folder``.

        Raises:
            IndexMissing: there is no such version, or it is half-written.
            IndexDamaged: the facts were altered.
            IndexMismatch: another program wrote them.
            IndexUnavailable: the disk has no room for them.
        """
        name = self.facts(version)
        metadata = self.metadata(name)
        if SHA256 not in metadata or not str(metadata.get(RECORDS)).isdecimal():
            raise IndexMissing(
                f"The index's version {version} on Chroma's server is not whole. Run: ragctl ingest PATH"
            )
        pieces: list[str] = []
        for numbers in batched(range(int(metadata[RECORDS])), FACTS_AT_ONCE):
            found = self.raw(name, ids=[f"f{number}" for number in numbers])
            records = dict(zip(found["ids"], found["metadatas"], strict=True))
            for number in numbers:
                record = records.get(f"f{number}") or {}
                pieces += [str(record[key]) for key in sorted(record) if key.startswith("p")]
        packed = "".join(pieces)
        if hashlib.sha256(packed.encode()).hexdigest() != metadata[SHA256]:
            raise IndexDamaged(f"The facts of the index's version {version} are damaged. Run: ragctl ingest PATH")
        try:
            folder.mkdir(parents=True)
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed)), mode="r:gz") as files:
                files.extractall(folder, filter="data")
        except (tarfile.TarError, ValueError) as exc:
            raise IndexMismatch(
                f"The facts of the index's version {version} are of another kind than this program's. "
                "Run: ragctl ingest PATH"
            ) from exc
        except OSError as exc:
            raise IndexUnavailable(f"No place to open the index in: {exc.strerror}") from exc

    def _read(self, name: str, work: Callable[[Any], Any]) -> Any:
        return self.connection.call(lambda api: work(self._collection(api, name)), policy=self.policy)

    def _write(self, name: str, work: Callable[[Any], Any]) -> Any:
        return self.connection.call(lambda api: work(self._collection(api, name)), policy=WRITE_POLICY)

    def _collection(self, api: ServerAPI, name: str) -> Collection:
        from chromadb.api.models.Collection import Collection

        known = self.connection.collections
        if (model := known.get(name)) is None:
            known[name] = model = api.get_collection(name, **self._where)
        # A new one each time: one that holds a client which was closed meanwhile would fail for ever.
        return Collection(client=api, model=model, embedding_function=None)

    @property
    def _where(self) -> dict[str, str]:
        return {"tenant": self.connection.address.tenant, "database": self.connection.address.database}


def _chunks(found: Mapping[str, Any]) -> tuple[StoredChunk, ...]:
    rows = zip(found["ids"], found["metadatas"], found["documents"], strict=True)
    return tuple(from_record(*row) for row in rows)
