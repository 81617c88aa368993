"""Documents of an index on a server, some at a time: cut, read with the embedding model, written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.embed import embed_chunks
from knowledge.build.plan import Plan, Previous, Run, plan
from knowledge.build.reading import FIT_CHUNKS, fit
from knowledge.build.served.base import Base, previous_of
from knowledge.build.served.change import Fresh
from knowledge.build.served.progress import Progress
from knowledge.cut.embedding_text import embed_text
from knowledge.engines.metadata import merge_types, to_metadata
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk, to_record
from knowledge.model.manifest import Source
from knowledge.model.values import Chunk, Document, Embedder, Reading, TokenEmbedder

if TYPE_CHECKING:
    from knowledge.search.codes import Projection

SLAB = 100
"""Documents that are cut, read and written at a time; of about five chunks each."""
WRITERS = 2
"""Calls that write at once. The next slab is read meanwhile, and waits for them."""
CHECKPOINT_SLABS = 10
CHECKPOINT_SHARE = 0.02
"""Of what is written, so much more is before the progress is kept again: keeping it takes as long as it is large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How documents are cut (see ``knowledge.build.plan.plan``)."""

    max_chars: int
    overlap: int
    recipe: int
    run: Run

    def plan(self, documents: Sequence[Document], previous: Previous, *, all_stay: bool = False) -> Plan:
        """``documents`` cut; with ``all_stay`` what ``previous`` has stays."""
        return plan(
            documents,
            previous=previous,
            max_chars=self.max_chars,
            overlap=self.overlap,
            recipe=self.recipe,
            lost=[""] if all_stay else (),
            run=self.run,
        )

    def sources(self, fresh: Fresh) -> Iterator[Source]:
        """What the documents are in an index."""
        for some in batched(range(len(fresh)), SLAB):
            yield from self.plan(fresh.some(some), Previous()).sources


def sample_projection(fresh: Fresh, cutting: Cutting, embedder: TokenEmbedder) -> Projection | None:
    """The projection for chunks like those of some of the documents; None where none of them can be read."""
    order = np.random.default_rng(0).permutation(len(fresh)).tolist()
    chunks: list[Chunk] = []
    for some in batched(order, SLAB):
        if len(chunks) >= FIT_CHUNKS:
            break
        chunks += cutting.plan(fresh.some(some), Previous()).chunks
    chosen = np.random.default_rng(0).permutation(len(chunks))[:FIT_CHUNKS].tolist()
    readings: list[Reading] = []
    for place in chosen:
        readings.append(embedder.read(embed_text(chunks[place].title, chunks[place].text)))
    return fit(readings) if readings else None


@dataclass(frozen=True, slots=True, eq=False)
class SlabWriter:
    """Writes documents to the collection ``name``; ``base`` is what there was, ``work`` where the progress is kept.

    ``reusable``: the collection began as a copy of the base. ``shared_titles`` are those of several documents.
    """

    database: Database
    name: str
    base: Base | None
    reusable: bool
    embedder: Embedder
    projection: Projection | None
    cutting: Cutting
    work: Path
    shared_titles: frozenset[str]

    def write(self, fresh: Fresh, progress: Progress, on_progress: Callable[[int, int], None] | None) -> None:
        """Write the chunks of ``fresh``, those slabs that ``progress`` has not yet, in the place of older ones."""
        slabs, kept = list(batched(range(len(fresh)), SLAB)), progress.slabs
        with ThreadPoolExecutor(WRITERS) as writers:
            pending: list[Future[None]] = []
            for place in range(progress.slabs, len(slabs)):
                slab = fresh.some(slabs[place])
                previous, held = self._previous([document.doc_id for document in slab], progress)
                planned = self.cutting.plan(slab, previous)
                pending = self._put(planned, previous, held, progress, _Writing(writers, pending))
                progress.slabs = place + 1
                if progress.slabs - kept >= max(CHECKPOINT_SLABS, kept * CHECKPOINT_SHARE):
                    _done(pending)
                    progress.save(self.work)
                    kept = progress.slabs
                if on_progress is not None:
                    on_progress(slabs[place][-1] + 1, len(fresh))
            _done(pending)
        progress.save(self.work)

    def read_again(self, doc_ids: Sequence[str], progress: Progress) -> None:
        """Write the documents ``doc_ids`` of the base as they are there, read anew."""
        written = len(progress.sources)  # of slabs that an earlier try has written
        with ThreadPoolExecutor(WRITERS) as writers:
            for some in batched(doc_ids, SLAB):
                previous, held = self._previous(some, progress)
                planned = self.cutting.plan([], previous, all_stay=True)
                _done(self._put(planned, previous, held, progress, _Writing(writers, [])))
        del progress.sources[written:]  # they are among those that stay

    def remove(self, doc_ids: Sequence[str], progress: Progress) -> None:
        """Remove the documents ``doc_ids`` of the base."""
        assert self.base is not None  # noqa: S101 - there is nothing to remove else
        for some in batched(doc_ids, SLAB):
            gone = list(self.base.chunks_of(some))
            progress.totals.remove(gone)
            self.database.delete(self.name, [one.chunk.id for one in gone])

    def _previous(self, doc_ids: Sequence[str], progress: Progress) -> tuple[Previous, list[StoredChunk]]:
        """What can be taken over of ``doc_ids``, and the chunks that there were of them."""
        held = self.base.held(doc_ids) if self.base is not None else []
        made = previous_of(
            held,
            self.base.sources if self.base is not None else {},
            progress.next_number,
            self.projection,
            reusable=self.reusable and self.base is not None,
            shared_titles=self.shared_titles,
        )
        return made, held

    def _put(
        self, planned: Plan, previous: Previous, old: Sequence[StoredChunk], progress: Progress, writing: _Writing
    ) -> list[Future[None]]:
        """Read ``planned``, and write it once what is pending is written; what is pending then.

        ``old`` are the chunks that these documents had.
        """
        progress.next_number = max(progress.next_number, planned.next_number)
        new: list[StoredChunk] = []
        if planned.chunks:
            planned, embedded = embed_chunks(planned, previous, self.embedder, None)
            tokens = embedded.tokens.chunks if embedded.tokens else [None] * len(planned.chunks)
            new = [StoredChunk(*row) for row in zip(planned.chunks, list(embedded.vectors), tokens, strict=True)]
            progress.embedded += embedded.fresh
        _done(writing.pending)
        progress.totals.remove(old)
        progress.totals.add(new)
        for one in new:
            progress.fields = merge_types(progress.fields, to_metadata(one.chunk))
        progress.sources += planned.sources
        progress.failed += planned.failed
        progress.kept += planned.kept
        self.database.delete(self.name, [one.chunk.id for one in old])  # the metadata of one that is there would stay
        batches = batched(new, RESULTS)
        return [writing.writers.submit(write_chunks, self.database, self.name, some) for some in batches]


def write_chunks(database: Database, name: str, chunks: Sequence[StoredChunk]) -> None:
    """Write ``chunks``, at most ``RESULTS``, to the collection ``name``; it raises as ``Database.put``."""
    database.put(
        name,
        [one.chunk.id for one in chunks],
        np.stack([one.vector for one in chunks]),
        [to_record(one.chunk, one.vector, one.tokens) for one in chunks],
        [one.chunk.text for one in chunks],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Writing:
    """What writes, and what is being written."""

    writers: ThreadPoolExecutor
    pending: Sequence[Future[None]]


def _done(pending: Sequence[Future[None]]) -> None:
    for one in pending:
        one.result()
