"""Documents out of an index without their sources: what stays is taken over as it is stored."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from knowledge.build.embed import embed_chunks
from knowledge.build.lock import locked
from knowledge.build.plan import Plan
from knowledge.build.previous import old_index, previous_of, settings_now, settings_of, with_vectors
from knowledge.build.summary import Clock, Summary, summarise
from knowledge.build.update import update_of
from knowledge.build.write import remove_data, write_index
from knowledge.model.errors import IndexMismatch, IndexMissing, SourceUnreadable
from knowledge.model.values import Embedder
from knowledge.open.scratch import sweep


def remove(
    target: Path,
    *,
    doc_ids: Collection[str],
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Take the documents of ``doc_ids`` out of the index in the folder ``target``.

    As an ingest without them would do it: in one step, other chunks keep their numbers and vectors, BM25 and the bar
    are made anew. Of the summary ``removed`` counts documents that held text.

    Raises:
        IndexMissing, IndexLocked: there is no index, or a damaged one, or another process is writing it.
        IndexMismatch: it was made with another embedding model.
        SourceUnreadable: nothing would be left.
    """
    clock = Clock()
    with locked(target):
        sweep(target)
        before = old_index(target).manifest
        if before is None:
            raise IndexMissing(f"There is no index, or a damaged one, in {str(target)!r}. Run: ragctl ingest PATH")
        settings = settings_now(
            embedder,
            collection=before.collection,
            max_chars=before.max_chars,
            overlap=before.overlap,
            recipe=before.recipe,
        )
        if (before.model, before.dimensions) != (embedder.model, embedder.dimensions):
            raise IndexMismatch(
                "The index was made with another embedding model, and cannot be changed without its documents. "
                "Run: ragctl ingest PATH"
            )
        previous = previous_of(target, before, settings)
        left = [source for source in before.sources if source.doc_id not in doc_ids]
        chunks = [chunk for source in left for chunk in previous.chunks.get(source.doc_id, ())]
        if not chunks:
            raise SourceUnreadable(f"Nothing would be left in the index: to drop it, delete the folder {str(target)!r}")
        planned = Plan(
            chunks=tuple(sorted(chunks, key=lambda chunk: chunk.number)),
            next_number=before.next_number,
            sources=tuple(left),
        )
        remove_data(target, keep=before.data)
        update = update_of(target, before, previous, planned) if settings == settings_of(before) else None
        previous = with_vectors(previous, target, before, settings, exact=update is None)
        planned, embedded = embed_chunks(planned, previous, embedder, on_progress)
        now = write_index(
            target, planned, embedded, embedder, settings=settings, made=before.made, before=before, update=update
        )
        return summarise(now.sources, before, clock, now=now, embedded=embedded.fresh)
