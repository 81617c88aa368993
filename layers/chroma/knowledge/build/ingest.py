"""Ingest of documents into an index on disk, and their removal: incremental, atomic, one writer at a time.

The new index is written beside the old one, so a killed process leaves the old one intact (``knowledge.build.write``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from knowledge.build.durable import make_folder, writer_lock
from knowledge.build.embed import ChunkEmbeddings, embed_chunks
from knowledge.build.plan import DocumentMapper, IndexSettings, Plan, PreviousChunks, plan, source_keys
from knowledge.build.previous import IndexUpdate, OldIndex, load_chunks, load_vectors, old_index, plan_update
from knowledge.build.removals import check_removals, has_moved, held_paths
from knowledge.build.summary import PhaseClock, Summary, summarise
from knowledge.build.write import remove_data, replace_provenance, write_index
from knowledge.model.errors import IndexMismatch, IndexMissing, SourceUnreadable
from knowledge.model.manifest import NO_PROVENANCE, RECIPE, Manifest, Provenance, SourceRecord
from knowledge.model.values import Document, Embedder, Failure, TokenEmbedder
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.scratch import sweep


def ingest(
    documents: Sequence[Document],
    *,
    target: Path,
    embedder: Embedder,
    collection: str = DEFAULT_COLLECTION,
    recipe: int = RECIPE,
    lost: Collection[str] = (),
    emptied: Mapping[str, Failure] = MappingProxyType({}),
    max_removed_share: float = 1.0,
    dry_run: bool = False,
    map_documents: DocumentMapper = map,
    provenance: Provenance = NO_PROVENANCE,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Make the index in the folder ``target`` mirror ``documents`` exactly.

    Only texts that are not in the index are embedded; when only ``provenance`` changed, no data is touched. The data
    folder replaced last is kept until the next ingest, for readers that are about to open it.

    Args:
        documents: the documents of the index.
        target: the index's folder; made if it is missing.
        embedder: gives the vectors of texts.
        collection: the name of Chroma's collection.
        recipe: how documents are cut, ``RECIPE`` or ``SEED_RECIPE``.
        lost: paths of files and folders that could not be read; their documents stay in the index.
        emptied: files without text and folders without files, by path; their documents stay in the index too, unless
            they moved, and are named in the summary.
        max_removed_share: refuse to remove more than this share (0..1) of the documents that the index has.
        dry_run: only report what would be done.
        map_documents: calls a function with each of many documents, perhaps in several processes.
        provenance: recorded in the manifest.
        on_progress: gets the number of embedded texts, and of all.

    Raises:
        IndexLocked: another process is writing this index.
        IndexMismatch: ``target`` is a Chroma folder that was made elsewhere.
        IndexNotWritten: the disk is full, or a file could not be written; the index is as it was.
        RemovalsRefused: it would remove too many documents; the index is as it was.
        SourceUnreadable: the documents hold no text, or two have the same doc_id; the index is as it was.
    """
    clock = PhaseClock()
    settings = IndexSettings.now(embedder, collection=collection, recipe=recipe)
    cut = partial(plan, recipe=recipe, lost=lost, emptied=emptied, map_documents=map_documents)
    check = partial(_check, documents=documents, max_removed_share=max_removed_share)
    if dry_run:
        old = old_index(target)
        previous = _previous(target, old, settings)
        planned = cut(documents, previous=previous)
        check(planned, previous)
        return summarise(planned.sources, old.manifest, clock, planned=planned)
    make_folder(target)
    with writer_lock(target):
        sweep(target)
        old = old_index(target)
        before = old.manifest
        reusable = before if before is not None and IndexSettings.of(before) == settings else None
        asked = [SourceRecord(path=d.path, digest=d.digest, doc_id=d.doc_id, chunks=0) for d in documents]
        if reusable is not None and source_keys(reusable.sources) == source_keys(asked):
            now = replace_provenance(target, reusable, provenance)
            return summarise(reusable.sources, reusable, clock, now=now)
        previous = _previous(target, old, settings)
        planned = cut(documents, previous=previous)
        check(planned, previous)
        clock.lap("cutting")
        if reusable is not None and source_keys(reusable.sources) == source_keys(planned.sources):
            now = replace_provenance(target, reusable, provenance)
            return summarise(reusable.sources, reusable, clock, now=now, planned=planned)
        remove_data(target, keep=old.data)
        previous, planned, embedded, update = _embed(
            target, before, previous, planned, embedder=embedder, settings=settings, on_progress=on_progress
        )
        check(planned, previous)
        clock.lap("embedding")
        now = write_index(
            target, planned, embedded, embedder, settings=settings, provenance=provenance, before=before, update=update
        )
        clock.lap("writing")
        return summarise(now.sources, before, clock, now=now, planned=planned, embedded=embedded.fresh)


def remove(
    target: Path,
    *,
    doc_ids: Collection[str],
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Remove the documents ``doc_ids`` from the index in the folder ``target``, without their sources.

    As an ingest without them does: in one step, other chunks keep their numbers and vectors, BM25 and the bar
    are made again. ``removed`` in the summary counts documents that had text.

    Raises:
        IndexMissing, IndexLocked: there is no index, or a damaged one, or another process is writing it.
        IndexMismatch: it was made with another embedding model.
        SourceUnreadable: nothing would be left.
    """
    clock = PhaseClock()
    with writer_lock(target):
        sweep(target)
        before = old_index(target).manifest
        if before is None:
            raise IndexMissing(f"There is no index, or a damaged one, in {str(target)!r}. Run: ragctl ingest PATH")
        if (before.model, before.dimensions) != (embedder.model, embedder.dimensions):
            raise IndexMismatch(
                "The index was made with another embedding model, and cannot be changed without its documents. "
                "Run: ragctl ingest PATH"
            )
        settings = IndexSettings.of(before)._replace(has_tokens=isinstance(embedder, TokenEmbedder))
        previous = load_chunks(target, before, settings)
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
        _, planned, embedded, update = _embed(
            target, before, previous, planned, embedder=embedder, settings=settings, on_progress=on_progress
        )
        now = write_index(
            target, planned, embedded, embedder, settings=settings, provenance=before.made, before=before, update=update
        )
        return summarise(now.sources, before, clock, now=now, embedded=embedded.fresh)


def _embed(
    target: Path,
    before: Manifest | None,
    previous: PreviousChunks,
    planned: Plan,
    *,
    embedder: Embedder,
    settings: IndexSettings,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[PreviousChunks, Plan, ChunkEmbeddings, IndexUpdate | None]:
    """Embed the new chunks of ``planned``, and decide whether a copy of the index ``before`` can be updated."""
    update = None
    if before is not None:
        if IndexSettings.of(before) == settings:
            update = plan_update(target, before, previous, planned)
        previous = load_vectors(previous, target, before, settings, exact=update is None)
    planned, embedded = embed_chunks(planned, previous, embedder, on_progress)
    return previous, planned, embedded, update


def _previous(target: Path, old: OldIndex, settings: IndexSettings) -> PreviousChunks:
    if old.manifest is None:
        return PreviousChunks(next_number=old.next_number)
    return load_chunks(target, old.manifest, settings)


def _check(planned: Plan, previous: PreviousChunks, documents: Sequence[Document], *, max_removed_share: float) -> None:
    """Raise if nothing would be left, or too many documents would be removed."""
    if not planned.chunks:
        failed = f", {len(planned.failed)} could not be cut or embedded" if planned.failed else ""
        raise SourceUnreadable(
            f"Nothing to index: {len(documents)} documents{failed}, and no text in any of them", planned.failed
        )
    texts = {chunk.text for chunk in planned.chunks}
    held = held_paths((chunk.extra for chunk in planned.chunks), planned.sources)
    there = {source.doc_id for source in planned.sources if source.chunks}
    removed = [
        previous.sources[doc_id].path
        for doc_id, chunks in previous.chunks.items()
        if doc_id not in there and previous.sources[doc_id].path not in held and not has_moved(chunks, texts)
    ]
    check_removals(removed, total=len(previous.chunks), max_share=max_removed_share)
