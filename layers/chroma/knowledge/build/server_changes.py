"""The documents that an ingest to a Chroma server writes, keeps or removes, compared with the index's last version."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.build.plan import IndexSettings, Plan
from knowledge.build.reading import keeps_projection
from knowledge.build.removals import check_removals, held_paths, is_below, keep_emptied
from knowledge.engines.collection import normalise
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk, from_record
from knowledge.model.errors import IndexUnavailable, IndexUnreachable, SourceUnreadable
from knowledge.model.manifest import Manifest, SourceRecord
from knowledge.model.values import Document, Failure
from knowledge.open.place import read_manifest
from knowledge.search.signals import Calibration

if TYPE_CHECKING:
    from knowledge.build.server_progress import IngestProgress


@dataclass(frozen=True, slots=True, eq=False)
class BaseVersion:
    """The version before an ingest: its ``manifest``, and its ``sources`` by doc_id.

    ``facts`` is the folder with the rest of an index that is no chunk: moments, idf, background texts.
    """

    database: Database
    manifest: Manifest
    facts: Path
    sources: Mapping[str, SourceRecord]

    @property
    def name(self) -> str:
        """The collection with its chunks."""
        return self.database.chunks(self.manifest.version)

    def chunks_of(self, doc_ids: Iterable[str]) -> list[StoredChunk]:
        """Return all chunks of the documents ``doc_ids`` that exist, by number, with the vectors that Chroma has."""
        chunks: list[StoredChunk] = []
        for batch in batched((doc_id for doc_id in doc_ids if doc_id in self.sources), RESULTS):
            where = {"doc_id": {"$in": list(batch)}}
            for offset in itertools.count(0, RESULTS):
                found = self.database.raw(self.name, where=where, limit=RESULTS, offset=offset)
                rows = zip(found["ids"], found["metadatas"], found["documents"], found["embeddings"], strict=True)
                for record_id, metadata, document, vector in rows:
                    one = from_record(record_id, metadata, document)
                    chunks.append(StoredChunk(one.chunk, normalise(vector), one.tokens))
                if len(found["ids"]) < RESULTS:
                    break
        return sorted(chunks, key=lambda one: one.chunk.number)


def load_base(database: Database, folder: Path) -> BaseVersion | None:
    """Load the facts of the current version to the new ``folder``; None: there is none, or it is damaged."""
    version, _ = database.current()
    if not version:
        return None
    try:
        database.load_facts(version, folder)
        manifest = read_manifest(folder)
        whole = manifest is not None and database.count(database.chunks(version)) == manifest.chunks
        Calibration.load(manifest.calibration if manifest is not None else None)
    except IndexUnreachable:
        raise
    except IndexUnavailable:
        return None
    if manifest is None or not whole:
        return None
    return BaseVersion(database, manifest, folder, {source.doc_id: source for source in manifest.sources})


@dataclass(frozen=True, slots=True, eq=False)
class SourceChanges:
    """The changes to an index's documents.

    ``fresh`` are the places in ``documents`` of those to be written, ``fresh_sources`` their sources, in that order,
    whose chunks are not known yet. ``unchanged`` sources stay as they are, ``removed`` ones go. ``reusable``: vectors
    and codes of the version before are as they would be made now. ``kept`` are doc_ids of documents that cannot be read
    now and stay; ``count_before`` is the number of documents with text before. ``shared_titles`` are the titles of
    several documents.
    """

    documents: Sequence[Document]
    fresh: Sequence[int]
    fresh_sources: Sequence[SourceRecord]
    unchanged: Sequence[SourceRecord]
    removed: Sequence[SourceRecord]
    kept: frozenset[str]
    emptied: tuple[Failure, ...]
    count_before: int
    reusable: bool
    shared_titles: frozenset[str]

    @classmethod
    def find(
        cls,
        documents: Sequence[Document],
        base: BaseVersion | None,
        settings: IndexSettings,
        lost: Collection[str],
        emptied: Mapping[str, Failure],
    ) -> SourceChanges:
        """Compare ``documents`` with the version before; ``lost`` and ``emptied`` are as in ``ingest``.

        Raises:
            SourceUnreadable: two documents have the same doc_id.
        """
        before = base.sources if base is not None else {}
        reusable = (
            base is not None
            and IndexSettings.of(base.manifest) == settings
            and keeps_projection(base.manifest, len(documents))  # on a server documents, not chunks, fit it
        )
        sources, shared_titles = _list_sources(documents)
        there = {source.doc_id for source in sources}
        if len(there) != len(sources):
            raise SourceUnreadable("Two documents have the same doc_id")
        unchanged, fresh = _split(sources, before if reusable else {})
        others = [source for source in before.values() if source.doc_id not in there]
        kept, failures = _keep_unread(others, lost, emptied)
        kept_ids = frozenset(source.doc_id for source in kept)
        return cls(
            documents=documents,
            fresh=fresh,
            fresh_sources=[sources[place] for place in fresh],
            unchanged=[*unchanged, *kept],
            removed=[source for source in others if source.doc_id not in kept_ids],
            kept=kept_ids,
            emptied=failures,
            count_before=sum(1 for source in before.values() if source.chunks),
            reusable=reusable,
            shared_titles=shared_titles,
        )

    def read(self, places: Iterable[int]) -> list[Document]:
        """Return the documents at ``places``, with their texts."""
        return [self.documents[place] for place in places]

    def check(self, max_removed_share: float) -> None:
        """Refuse to remove more than this share (0..1) of the documents; one that only moved is not removed."""
        new = {source.digest for source in self.fresh_sources}
        removed = [source.path for source in self.removed if source.chunks and source.digest not in new]
        if removed:
            held = held_paths((document.extra for document in self.read(self.fresh)), self.fresh_sources)
            removed = [path for path in removed if path not in held]
        check_removals(removed, total=self.count_before, max_share=max_removed_share)

    def plan(self, sources: Sequence[SourceRecord], progress: IngestProgress | None = None) -> Plan:
        """Return the plan that ``summarise`` reports."""
        kept = self.kept | frozenset(progress.kept if progress else ())
        failed = tuple(progress.failed) if progress else ()
        return Plan(chunks=(), next_number=0, sources=tuple(sources), kept=kept, failed=failed, emptied=self.emptied)


def _list_sources(documents: Iterable[Document]) -> tuple[list[SourceRecord], frozenset[str]]:
    """Return the sources of ``documents``, read one at a time, and the titles that several have."""
    sources: list[SourceRecord] = []
    titles: Counter[str] = Counter()
    for document in documents:
        sources.append(SourceRecord(path=document.path, digest=document.digest, doc_id=document.doc_id, chunks=0))
        titles[document.title] += 1
    return sources, frozenset(title for title, count in titles.items() if count > 1)


def _split(sources: Sequence[SourceRecord], before: Mapping[str, SourceRecord]) -> tuple[list[SourceRecord], list[int]]:
    """Return the sources before that are unchanged, and the places of new and changed ``sources``."""
    unchanged: list[SourceRecord] = []
    fresh: list[int] = []
    for place, source in enumerate(sources):
        known = before.get(source.doc_id)
        if known is not None and (known.path, known.digest) == (source.path, source.digest):
            unchanged.append(known)
        else:
            fresh.append(place)
    return unchanged, fresh


def _keep_unread(
    others: Sequence[SourceRecord], lost: Collection[str], emptied: Mapping[str, Failure]
) -> tuple[list[SourceRecord], tuple[Failure, ...]]:
    """Return the unread sources ``others`` that stay, and failures for emptied places."""
    kept = [source for source in others if is_below(source.path, lost)]
    of_emptied, failures = keep_emptied(emptied, (source for source in others if source not in kept), {}, ())
    return [*kept, *of_emptied], failures
