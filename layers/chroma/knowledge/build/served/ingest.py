"""Documents in, an index on Chroma's server out: a version of its own beside the one that answers, then the switch.

Documents are cut, read and written in slabs, so that texts, chunks, vectors and tokens of one slab are in memory at a
time: of ``documents`` one is asked for after the other (``knowledge.read.kept_texts``).
What did not change is taken over from the version before: forked where the server can (Chroma Cloud), else copied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from knowledge.build.plan import VERSION_CHARS, Run
from knowledge.build.previous import settings_now, settings_of
from knowledge.build.served.base import Base, base_of
from knowledge.build.served.change import Change
from knowledge.build.served.facts import FittedProjection, write_facts
from knowledge.build.served.progress import Progress, forget
from knowledge.build.served.slabs import Cutting, SlabWriter, sample_projection
from knowledge.build.served.totals import Totals
from knowledge.build.summary import Clock, Summary, summarise
from knowledge.build.write import Settings, bare_manifest
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import WRITING, Connection
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.words import TABLE_CHUNKS
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import RECIPE, UNKNOWN, Manifest, Provenance
from knowledge.model.values import Document, Embedder, Failure, TokenEmbedder
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.scratch import Scratch
from knowledge.search.codes import Projection
from knowledge.search.late_interaction import TOKENS_FOLDER

CHECKPOINT_CHUNKS = 5000
"""After so many chunks the progress is kept: a killed run does no more than these again."""


def ingest_served(
    documents: Sequence[Document],
    *,
    uri: str,
    work: Path,
    embedder: Embedder,
    token: Callable[[], str] = str,
    collection: str = DEFAULT_COLLECTION,
    max_chars: int = MAX_CHARS,
    overlap: int = OVERLAP_CHARS,
    recipe: int = RECIPE,
    lost: Collection[str] = (),
    emptied: Mapping[str, Failure] = MappingProxyType({}),
    max_removed_share: float = 1.0,
    dry_run: bool = False,
    run: Run = map,
    made: Provenance = UNKNOWN,
    switch: bool = True,
    table_chunks: int = TABLE_CHUNKS,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Make the index called ``collection`` on the server ``uri`` mirror ``documents`` exactly.

    The parameters are those of ``knowledge.build.ingest.ingest``, and: ``uri`` (``knowledge.engines.server.address``);
    ``work``, a folder of this machine where the progress is kept, so that a killed run goes on; ``token``, which gives
    the server's key; ``switch``: let the new version be the current one, and drop those before the one that was;
    ``table_chunks``: up to how many chunks BM25 is a table in the memory of whoever opens the index.

    Raises:
        IndexUnreachable, IndexNotWritten: the server does not answer, or refuses a record; the current version is as
            it was.
        RemovalsRefused, SourceUnreadable: see ``ingest``.
    """
    clock = Clock()
    with closing(Connection(ServerAddress.parse(uri), token)) as connection, closing(Scratch()) as scratch:
        database = Database(connection, collection, WRITING)  # nobody waits for its reads
        base = base_of(database, scratch.path / "base")
        settings = settings_now(embedder, collection=collection, max_chars=max_chars, overlap=overlap, recipe=recipe)
        change = Change.of(documents, base, settings, lost, emptied)
        change.check(max_removed_share)
        before = base.manifest if base else None
        good = before is not None and settings_of(before) == settings
        if before is not None and good and change.nothing and (dry_run or before.made == made):
            return summarise(before.sources, before, clock, now=before)
        cutting = Cutting(max_chars=max_chars, overlap=overlap, recipe=recipe, run=run)
        if dry_run:
            sources = [*cutting.sources(change.fresh), *change.stays]
            return summarise(sources, before, clock, planned=change.planned(sources))
        version = _version(settings, made, change, before)
        job = _Job(database, version, embedder, settings, base, change, cutting, work / version)
        progress, fitted = job.write(clock, on_progress)
        if not progress.totals.numbers:
            database.drop(version)
            raise SourceUnreadable(f"Nothing to index: {len(documents)} documents, and no text in any of them")
        bare = job.describe(progress, made)
        now = write_facts(database, bare, progress.totals, fitted, embedder, scratch=scratch, table_chunks=table_chunks)
        clock.lap("facts")
        forget(work)
        if switch:
            switch_to(database, version)
        planned = change.planned(now.sources, progress)
        return summarise(now.sources, before, clock, now=now, planned=planned, embedded=progress.embedded)


def switch_to(database: Database, version: str) -> None:
    """Let ``version`` be the current one; the one before is kept for readers that have it open, others are dropped."""
    database.switch(version)
    for other in set(database.versions()) - set(database.current()):
        database.drop(other)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """The writing of one version."""

    database: Database
    version: str
    embedder: Embedder
    settings: Settings
    base: Base | None
    change: Change
    cutting: Cutting
    work: Path

    def write(
        self, clock: Clock, on_progress: Callable[[int, int], None] | None
    ) -> tuple[Progress, FittedProjection | None]:
        """Write all chunks; what is kept of an earlier try is not done again."""
        name, base = self.database.chunks(self.version), self.base
        taken = base if self.change.reusable else None
        fitted = self._fitted(taken)
        progress = Progress.load(self.work)
        if progress is None:
            self.database.drop(self.version)
            progress = self._begin(name, taken)
        self.database.make(name, {"version": self.version})
        if taken is not None:
            self._copy(name, taken, progress)
        clock.lap("copying")
        writer = SlabWriter(
            self.database,
            name,
            base,
            self.change.reusable,
            self.embedder,
            fitted.projection if fitted else None,
            self.cutting,
            self.work,
            self.change.shared_titles,
        )
        if taken is not None:
            writer.remove([source.doc_id for source in self.change.gone], progress)
        elif base is not None:
            writer.read_again(sorted(self.change.kept), progress)
        writer.write(self.change.fresh, progress, on_progress)
        clock.lap("embedding")
        return progress, fitted

    def describe(self, progress: Progress, made: Provenance) -> Manifest:
        """The manifest of what is written, without what ``write_facts`` makes."""
        return bare_manifest(
            self.version,
            self.settings,
            sources=(*progress.sources, *self.change.stays),
            chunks=len(progress.totals.numbers),
            next_number=progress.next_number,
            fields=progress.fields,
            made=made,
        )

    def _fitted(self, taken: Base | None) -> FittedProjection | None:
        if not isinstance(self.embedder, TokenEmbedder):
            return None
        if taken is not None and taken.manifest.tokens is not None:
            projection = Projection.load(taken.facts / TOKENS_FOLDER, self.embedder.dimensions)
            return FittedProjection(projection, int(str(taken.manifest.tokens["fitted_on"])))
        sampled = sample_projection(self.change.fresh, self.cutting, self.embedder)
        return FittedProjection(sampled, len(self.change.fresh)) if sampled is not None else None

    def _begin(self, name: str, taken: Base | None) -> Progress:
        if taken is None:
            vocabulary = self.embedder.vocabulary if isinstance(self.embedder, TokenEmbedder) else 0
            begin = self.base.manifest.next_number if self.base else 1
            return Progress(Totals.none(self.embedder.dimensions, vocabulary), begin)
        progress = Progress(Totals.load(taken.facts), taken.manifest.next_number, fields=dict(taken.manifest.fields))
        if self.database.fork(taken.name, name):
            progress.copied = taken.manifest.chunks
        return progress

    def _copy(self, name: str, taken: Base, progress: Progress) -> None:
        def copied(count: int) -> None:
            progress.copied = count
            if count % CHECKPOINT_CHUNKS < RESULTS:
                progress.save(self.work)

        taken.copy(name, progress.copied, copied)


def _version(settings: Settings, made: Provenance, change: Change, before: Manifest | None) -> str:
    """The name of the version to be: of what goes into it, so that a second try finds what the first one wrote."""
    content = [
        settings,
        repr(made),
        sorted((s.doc_id, s.path, s.digest) for s in change.fresh.sources),
        sorted((s.doc_id, s.path, s.digest) for s in change.stays),
        before.version if before else "",
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:VERSION_CHARS]
