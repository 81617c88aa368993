"""Documents in, an index on disk out: incremental, atomic, one writer at a time.

What is new is written beside what there is, which a killed process leaves as it was (``knowledge.build.write``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from knowledge.build.durable import make_folder
from knowledge.build.embed import embed_chunks
from knowledge.build.keeping import check_removals, has_moved
from knowledge.build.lock import locked
from knowledge.build.plan import Plan, Previous, Run, plan
from knowledge.build.previous import OldIndex, old_index, previous_of, settings_now, settings_of, with_vectors
from knowledge.build.summary import Clock, Summary, summarise
from knowledge.build.update import update_of
from knowledge.build.write import Settings, remade, remove_data, write_index
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import RECIPE, UNKNOWN, Provenance, Source
from knowledge.model.values import Document, Embedder, Failure
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.scratch import sweep


def ingest(
    documents: Sequence[Document],
    *,
    target: Path,
    embedder: Embedder,
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
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Make the index in the folder ``target`` mirror ``documents`` exactly.

    Only texts that the index does not hold are embedded; when nothing but ``made`` changed, no data is touched. The
    data folder replaced last is kept until the next ingest, for readers that are about to open it.

    Args:
        documents: what the index is to hold.
        target: the index's folder; made if it is not there.
        embedder: what turns texts into vectors.
        collection: the name of Chroma's collection.
        max_chars: characters that a chunk has at most.
        overlap: characters that a chunk repeats at most.
        recipe: how documents are cut, ``RECIPE`` or ``SEED_RECIPE``.
        lost: paths of files and folders that could not be read; what the index holds of them stays.
        emptied: files without text and folders without files, by path; what the index holds of them stays too, but
            for what has moved, and is named.
        max_removed_share: refuse to remove more than this share (0..1) of the documents that the index has.
        dry_run: say what would be done, and do nothing.
        run: calls a function with each of many documents, perhaps in several processes.
        made: what the manifest says that the index was made for and of.
        on_progress: is told how many texts are embedded, and of how many.

    Raises:
        IndexLocked: another process is writing this index.
        IndexMismatch: ``target`` is a Chroma folder that was made elsewhere.
        IndexNotWritten: the disk is full, or a file could not be written; the index is as it was.
        RemovalsRefused: it would remove too many documents; the index is as it was.
        SourceUnreadable: the documents hold no text, or two have the same doc_id; the index is as it was.
    """
    clock = Clock()
    job = _Job(
        documents, target, embedder, collection, max_chars, overlap, recipe, lost, emptied, max_removed_share, run
    )
    if dry_run:
        old = old_index(target)
        planned = job.plan(job.previous(old))
        return summarise(planned.sources, old.manifest, clock, planned=planned)
    make_folder(target)
    with locked(target):
        sweep(target)
        old = old_index(target)
        before, settings = old.manifest, job.settings
        good = before is not None and settings_of(before) == settings
        if before is not None and good and _same(before.sources, job.asked):
            return summarise(before.sources, before, clock, now=remade(target, before, made))
        previous = job.previous(old)
        planned = job.plan(previous)
        clock.lap("cutting")
        if before is not None and good and _same(before.sources, planned.sources):
            return summarise(before.sources, before, clock, now=remade(target, before, made), planned=planned)
        remove_data(target, keep=old.data)
        update = update_of(target, before, previous, planned) if before is not None and good else None
        if before is not None:
            previous = with_vectors(previous, target, before, settings, exact=update is None)
        planned, embedded = embed_chunks(planned, previous, embedder, on_progress)
        job.check(planned, previous)
        clock.lap("embedding")
        now = write_index(
            target, planned, embedded, embedder, settings=settings, made=made, before=before, update=update
        )
        clock.lap("writing")
        return summarise(now.sources, before, clock, now=now, planned=planned, embedded=embedded.fresh)


@dataclass(frozen=True, slots=True)
class _Job:
    """What ``ingest`` was asked for."""

    documents: Sequence[Document]
    target: Path
    embedder: Embedder
    collection: str
    max_chars: int
    overlap: int
    recipe: int
    lost: Collection[str]
    emptied: Mapping[str, Failure]
    max_removed_share: float
    run: Run

    @property
    def settings(self) -> Settings:
        return settings_now(
            self.embedder,
            collection=self.collection,
            max_chars=self.max_chars,
            overlap=self.overlap,
            recipe=self.recipe,
        )

    @property
    def asked(self) -> list[Source]:
        """The documents as the sources of an index, of no chunks yet."""
        return [Source(path=d.path, digest=d.digest, doc_id=d.doc_id, chunks=0) for d in self.documents]

    def previous(self, old: OldIndex) -> Previous:
        if old.manifest is None:
            return Previous(next_number=old.next_number)
        return previous_of(self.target, old.manifest, self.settings)

    def plan(self, previous: Previous) -> Plan:
        planned = plan(
            self.documents,
            previous=previous,
            max_chars=self.max_chars,
            overlap=self.overlap,
            recipe=self.recipe,
            lost=self.lost,
            emptied=self.emptied,
            run=self.run,
        )
        self.check(planned, previous)
        return planned

    def check(self, planned: Plan, previous: Previous) -> None:
        """Raise where nothing would be left, or too little of what there is."""
        if not planned.chunks:
            failed = f", {len(planned.failed)} could not be cut or embedded" if planned.failed else ""
            raise SourceUnreadable(
                f"Nothing to index: {len(self.documents)} documents{failed}, and no text in any of them", planned.failed
            )
        texts = {chunk.text for chunk in planned.chunks}
        there = {source.doc_id for source in planned.sources if source.chunks}
        gone = [
            previous.sources[doc_id].path
            for doc_id, chunks in previous.chunks.items()
            if doc_id not in there and not has_moved(chunks, texts)
        ]
        check_removals(gone, of=len(previous.chunks), max_share=self.max_removed_share)


def _same(before: Iterable[Source], now: Iterable[Source]) -> bool:
    def of(sources: Iterable[Source]) -> list[tuple[str, str, str]]:
        return sorted((s.doc_id, s.path, s.digest) for s in sources)

    return of(before) == of(now)
