"""The version of an index on a server that an ingest begins with, and what of it can be taken over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.build.plan import Previous, embed_key
from knowledge.build.reading import KnownReadings, texts_of
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.facts import load_facts
from knowledge.engines.server.records import StoredChunk, from_record
from knowledge.model.errors import IndexUnavailable, IndexUnreachable
from knowledge.model.manifest import Manifest, Source
from knowledge.open.place import read_manifest
from knowledge.search.signals import Calibration

if TYPE_CHECKING:
    from knowledge.model.values import Chunk
    from knowledge.search.codes import Projection

AHEAD = 2
"""So many batches are read and written at once while a version is copied."""


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A whole version: its ``manifest`` and the folder with its ``facts``; ``sources`` by doc_id."""

    database: Database
    manifest: Manifest
    facts: Path
    sources: Mapping[str, Source] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The collection with its chunks."""
        return self.database.chunks(self.manifest.version)

    def chunks_of(self, doc_ids: Sequence[str]) -> Iterator[StoredChunk]:
        """All chunks of the documents ``doc_ids``, with the vectors that Chroma has of them."""
        for some in batched(doc_ids, RESULTS):
            where, offset = {"doc_id": {"$in": list(some)}}, 0
            while True:
                found = self.database.raw(self.name, where=where, limit=RESULTS, offset=offset)
                yield from with_vectors(found)
                offset += len(found["ids"])
                if len(found["ids"]) < RESULTS:
                    break

    def held(self, doc_ids: Sequence[str]) -> list[StoredChunk]:
        """The chunks of those of ``doc_ids`` that it has, by number."""
        known = [doc_id for doc_id in doc_ids if doc_id in self.sources]
        return sorted(self.chunks_of(known), key=lambda one: one.chunk.number)

    def copy(self, target: str, begin: int, done: Any) -> None:
        """Copy all records from the place ``begin`` on to the collection ``target``; ``done`` is told of each batch."""
        starts = range(begin, self.manifest.chunks, RESULTS)
        with ThreadPoolExecutor(AHEAD) as pool:
            for some in batched(starts, AHEAD):
                for number in pool.map(lambda start: self._copied(target, start), some):
                    done(number)

    def _copied(self, target: str, start: int) -> int:
        found = self.database.raw(self.name, limit=RESULTS, offset=start)
        self.database.put(target, found["ids"], found["embeddings"], found["metadatas"], found["documents"])
        return start + len(found["ids"])


def previous_of(
    held: Sequence[StoredChunk],
    sources: Mapping[str, Source],
    next_number: int,
    projection: Projection | None,
    *,
    reusable: bool,
    shared_titles: frozenset[str] = frozenset(),
) -> Previous:
    """What an ingest can take over of the chunks ``held``; of vectors and tokens only what is ``reusable``."""
    chunks = [one.chunk for one in held]
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        numbers[chunk.doc_id, chunk.text].append(chunk.number)
        by_document[chunk.doc_id].append(chunk)
    taken = held if reusable else ()
    digests = [text.digest() for text in texts_of(chunks, shared_titles)] if reusable else []
    tokens = {key: (one.vector, one.tokens) for key, one in zip(digests, taken, strict=True) if one.tokens is not None}
    return Previous(
        next_number=next_number,
        numbers=numbers,
        vectors={embed_key(one.chunk.title, one.chunk.text): one.vector for one in taken},
        known=KnownReadings(projection=projection, fitted_on=None, chunks=tokens),
        sources={doc_id: sources[doc_id] for doc_id in by_document},
        chunks={doc_id: tuple(found) for doc_id, found in by_document.items()},
        shared_titles=shared_titles,
    )


def base_of(database: Database, folder: Path) -> Base | None:
    """The current version, its facts in the new ``folder``; None where there is none, or it cannot be read whole."""
    version, _ = database.current()
    if not version:
        return None
    try:
        load_facts(database, version, folder)
        manifest = read_manifest(folder)
        whole = manifest is not None and database.count(database.chunks(version)) == manifest.chunks
        Calibration.load(manifest.calibration if manifest is not None else None)
    except IndexUnreachable:
        raise
    except IndexUnavailable:
        return None
    if manifest is None or not whole:
        return None
    return Base(database, manifest, folder, {source.doc_id: source for source in manifest.sources})


def with_vectors(found: Mapping[str, Any]) -> Iterator[StoredChunk]:
    """Records as ``Database.raw`` gives them, with the vectors that Chroma has."""
    rows = zip(found["ids"], found["metadatas"], found["documents"], found["embeddings"], strict=True)
    for record_id, metadata, document, vector in rows:
        one = from_record(record_id, metadata, document)
        unit = np.asarray(vector, dtype=np.float32)
        yield StoredChunk(one.chunk, np.asarray(unit / (np.linalg.norm(unit) or 1), dtype=np.float32), one.tokens)
