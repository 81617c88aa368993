"""Writing the chunks of one version to a server, in slabs of documents: cut, read with the embedding model, written.

Unchanged chunks are taken from the version before: forked where the server can (Chroma Cloud), else copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.embed import embed_chunks
from knowledge.build.plan import Plan, PreviousChunks, embed_key
from knowledge.build.reading import FIT_CHUNKS, ChunkReadings, texts_of
from knowledge.build.server_changes import BaseVersion, SourceChanges
from knowledge.build.server_progress import ChunkTotals, IngestProgress
from knowledge.embedding import embed_text
from knowledge.engines.metadata import merge_types, to_metadata
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk, to_record
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.tokens import ChunkTokens, Projection

if TYPE_CHECKING:
    from knowledge.build.summary import PhaseClock

SLAB = 100
"""Documents that are cut, read and written at a time; of about five chunks each."""
WRITERS = 2
"""Concurrent calls that write. The next slab is read meanwhile, and waits for them."""
COPIES = 2
"""Batches that are copied at once."""
CHECKPOINT_CHUNKS = 5000
"""Copied chunks after which the progress is saved: a killed run repeats no more than these."""
CHECKPOINT_SLABS = 10
CHECKPOINT_SHARE = 0.02
"""Of the written slabs; the progress is saved after these or after ``CHECKPOINT_SLABS``, the more: saving takes longer
the more is written."""


@dataclass(eq=False)
class VersionWriter:
    """Writes the chunks of one version; ``work`` is the folder of its progress.

    ``cut`` is ``knowledge.build.plan.plan`` with all settings. ``fitted`` is the projection, set by ``write``: without
    readings, and with the number of documents that it was fitted for.
    """

    database: Database
    version: str
    base: BaseVersion | None
    changes: SourceChanges
    embedder: Embedder
    cut: Callable[..., Plan]
    work: Path
    fitted: ChunkReadings = field(default_factory=ChunkReadings)

    @property
    def name(self) -> str:
        """The collection that is written."""
        return self.database.chunks(self.version)

    def write(self, clock: PhaseClock, on_progress: Callable[[int, int], None] | None) -> IngestProgress:
        """Write all chunks, except those that an earlier try has written."""
        reused = self.base if self.changes.reusable else None
        self.fitted = self._fit(reused)
        progress = IngestProgress.load(self.work)
        if progress is None:
            self.database.drop(self.version)
            progress = self._begin(reused)
        self.database.create(self.name, {"version": self.version})
        if reused is not None:
            self._copy(reused, progress)
        clock.lap("copying")
        if reused is not None:
            for batch in batched((source.doc_id for source in self.changes.removed), SLAB):
                removed = reused.chunks_of(batch)
                progress.totals.remove(removed)
                self.database.delete(self.name, [one.chunk.id for one in removed])
        elif self.base is not None:
            self.rewrite(sorted(self.changes.kept), progress)
        self._write_fresh(progress, on_progress)
        clock.lap("embedding")
        return progress

    def rewrite(self, doc_ids: Sequence[str], progress: IngestProgress) -> None:
        """Write the documents ``doc_ids`` of the base with new vectors and tokens."""
        written = len(progress.sources)  # of slabs that an earlier try has written
        with ThreadPoolExecutor(WRITERS) as writers:
            for batch in batched(doc_ids, SLAB):
                previous, old = self._previous(batch, progress)
                planned = self.cut([], previous=previous, lost=[""])
                _wait(self._write_slab(planned, previous, old, progress, writers, []))
        del progress.sources[written:]  # they are among the unchanged ones

    def _fit(self, reused: BaseVersion | None) -> ChunkReadings:
        """Load the projection of the reused version, or fit one, unless the embedder has no tokens or reads none."""
        if not isinstance(self.embedder, TokenEmbedder):
            return ChunkReadings()
        if reused is not None and reused.manifest.tokens is not None:
            projection = Projection.load(reused.facts / TOKENS_FOLDER, self.embedder.dimensions)
            return ChunkReadings(projection=projection, fitted_on=int(str(reused.manifest.tokens["fitted_on"])))
        fresh = self.changes.fresh
        order = np.random.default_rng(0).permutation(len(fresh)).tolist()
        chunks: list[Chunk] = []
        for batch in batched(order, SLAB):
            if len(chunks) >= FIT_CHUNKS:
                break
            documents = self.changes.read(fresh[place] for place in batch)
            chunks += self.cut(documents, previous=PreviousChunks()).chunks
        chosen = np.random.default_rng(0).permutation(len(chunks))[:FIT_CHUNKS].tolist()
        tokens = [self.embedder.read(embed_text(chunks[place].title, chunks[place].text)).tokens for place in chosen]
        if not tokens:
            return ChunkReadings()
        return ChunkReadings(projection=Projection.fit(np.concatenate(tokens)), fitted_on=len(fresh))

    def _begin(self, reused: BaseVersion | None) -> IngestProgress:
        if reused is None:
            vocabulary = self.embedder.vocabulary if isinstance(self.embedder, TokenEmbedder) else 0
            next_number = self.base.manifest.next_number if self.base else 1
            return IngestProgress(ChunkTotals.zero(self.embedder.dimensions, vocabulary), next_number)
        manifest = reused.manifest
        totals = ChunkTotals.load(reused.facts)
        progress = IngestProgress(totals, manifest.next_number, fields=dict(manifest.fields))
        if self.database.fork(reused.name, self.name):
            progress.copied = manifest.chunks
        return progress

    def _copy(self, reused: BaseVersion, progress: IngestProgress) -> None:
        """Copy the records of the reused version, from the last one that an earlier try has copied."""

        def copy(start: int) -> int:
            found = self.database.raw(reused.name, limit=RESULTS, offset=start)
            self.database.put(self.name, found["ids"], found["embeddings"], found["metadatas"], found["documents"])
            return start + len(found["ids"])

        starts = range(progress.copied, reused.manifest.chunks, RESULTS)
        with ThreadPoolExecutor(COPIES) as pool:
            for batch in batched(starts, COPIES):
                for end in pool.map(copy, batch):
                    progress.copied = end
                    if end % CHECKPOINT_CHUNKS < RESULTS:
                        progress.save(self.work)

    def _write_fresh(self, progress: IngestProgress, on_progress: Callable[[int, int], None] | None) -> None:
        """Write the chunks of new and changed documents in the place of older ones."""
        fresh = self.changes.fresh
        slabs, saved = list(batched(fresh, SLAB)), progress.slabs
        with ThreadPoolExecutor(WRITERS) as writers:
            pending: list[Future[None]] = []
            for place in range(progress.slabs, len(slabs)):
                documents = self.changes.read(slabs[place])
                previous, old = self._previous([document.doc_id for document in documents], progress)
                planned = self.cut(documents, previous=previous)
                pending = self._write_slab(planned, previous, old, progress, writers, pending)
                progress.slabs = place + 1
                if progress.slabs - saved >= max(CHECKPOINT_SLABS, saved * CHECKPOINT_SHARE):
                    _wait(pending)
                    progress.save(self.work)
                    saved = progress.slabs
                if on_progress is not None:
                    on_progress(min((place + 1) * SLAB, len(fresh)), len(fresh))
            _wait(pending)
        progress.save(self.work)

    def _previous(self, doc_ids: Iterable[str], progress: IngestProgress) -> tuple[PreviousChunks, list[StoredChunk]]:
        """Return the reusable parts of the base's chunks of ``doc_ids``, and these chunks.

        Vectors and tokens are taken only where they are reusable.
        """
        shared = self.changes.shared_titles
        old = self.base.chunks_of(doc_ids) if self.base is not None else []
        chunks = [one.chunk for one in old]
        sources = [self.base.sources[doc_id] for doc_id in {c.doc_id for c in chunks}] if self.base is not None else []
        known = replace(self.fitted, fitted_on=None)
        previous = PreviousChunks.of(chunks, sources, progress.next_number)
        previous = replace(previous, shared_titles=shared, known=known)
        if not self.changes.reusable:
            return previous, old
        digests = [text.digest() for text in texts_of(chunks, shared)]
        tokens = {
            key: (one.vector, one.tokens) for key, one in zip(digests, old, strict=True) if one.tokens is not None
        }
        vectors = {embed_key(one.chunk.title, one.chunk.text): one.vector for one in old}
        return replace(previous, vectors=vectors, known=replace(known, chunks=tokens)), old

    def _write_slab(
        self,
        planned: Plan,
        previous: PreviousChunks,
        old: Sequence[StoredChunk],
        progress: IngestProgress,
        writers: ThreadPoolExecutor,
        pending: Sequence[Future[None]],
    ) -> list[Future[None]]:
        """Read ``planned``, wait for ``pending`` writes, start to write it, and return the writes pending then.

        ``old`` are the chunks that these documents had.
        """
        progress.next_number = max(progress.next_number, planned.next_number)
        new: list[StoredChunk] = []
        if planned.chunks:
            planned, embedded = embed_chunks(planned, previous, self.embedder, None)
            tokens: Sequence[ChunkTokens | None] = embedded.tokens or [None] * len(planned.chunks)
            new = [StoredChunk(*row) for row in zip(planned.chunks, list(embedded.vectors), tokens, strict=True)]
            progress.embedded += embedded.fresh
        _wait(pending)
        progress.totals.remove(old)
        progress.totals.add(new)
        for one in new:
            progress.fields = merge_types(progress.fields, to_metadata(one.chunk))
        progress.sources += planned.sources
        progress.failed += planned.failed
        progress.kept += planned.kept
        # Before writing: an existing record would keep metadata that the new one does not set.
        self.database.delete(self.name, [one.chunk.id for one in old])
        return [writers.submit(self._put, batch) for batch in batched(new, RESULTS)]

    def _put(self, chunks: Sequence[StoredChunk]) -> None:
        self.database.put(
            self.name,
            [one.chunk.id for one in chunks],
            np.stack([one.vector for one in chunks]),
            [to_record(one.chunk, one.vector, one.tokens) for one in chunks],
            [one.chunk.text for one in chunks],
        )


def _wait(pending: Iterable[Future[None]]) -> None:
    for write in pending:
        write.result()
