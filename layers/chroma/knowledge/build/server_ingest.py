"""Ingest of documents into an index on Chroma's server: a new version beside the current one, then the switch.

Documents are cut, read and written in slabs, so that texts, chunks, vectors and tokens of one slab are in memory at a
time: ``documents`` are read one after the other (``knowledge.read.documents``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import batched
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.calibrate import calibration_of
from knowledge.build.plan import VERSION_CHARS, DocumentMapper, IndexSettings, PreviousChunks, plan, source_keys
from knowledge.build.reading import ChunkReadings
from knowledge.build.server_changes import SourceChanges, load_base
from knowledge.build.server_progress import ChunkTotals, remove_progress
from knowledge.build.server_writer import SLAB, VersionWriter
from knowledge.build.summary import PhaseClock, Summary, summarise
from knowledge.build.write import bare_manifest, file_records
from knowledge.embedding import embed_text
from knowledge.engines.metadata import to_metadata
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import WRITE_POLICY, Connection
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.passages import TABLE_CHUNKS
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import MANIFEST_NAME, NO_PROVENANCE, RECIPE, Manifest, Provenance, dumps
from knowledge.model.values import Document, Embedder, Failure, TokenEmbedder, View
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.scratch import Scratch
from knowledge.open.server_index import ServerIndex
from knowledge.search.arrays import save_array
from knowledge.search.columns import COLUMNS_FOLDER, write_columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER, NUMBERS_NAME, SAMPLE, write_lexical, write_term_counts
from knowledge.search.tokens import BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Chunk, Scalar


def ingest_to_server(
    documents: Sequence[Document],
    *,
    uri: str,
    work: Path,
    embedder: Embedder,
    token: Callable[[], str] = str,
    collection: str = DEFAULT_COLLECTION,
    recipe: int = RECIPE,
    lost: Collection[str] = (),
    emptied: Mapping[str, Failure] = MappingProxyType({}),
    max_removed_share: float = 1.0,
    dry_run: bool = False,
    map_documents: DocumentMapper = map,
    provenance: Provenance = NO_PROVENANCE,
    switch: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Make the index ``collection`` on the server ``uri`` mirror ``documents`` exactly.

    The parameters are the same as in ``knowledge.build.ingest``, and: ``uri`` (``knowledge.engines.server.address``);
    ``work``, a folder of this machine that keeps the progress, so that a killed run can go on; ``token``, which gives
    the server's key; ``switch``: make the new version the current one, and drop those before the previous one.

    Raises:
        IndexUnreachable, IndexNotWritten: the server does not answer, or refuses a record; the current version is as
            it was.
        RemovalsRefused, SourceUnreadable: see ``ingest``.
    """
    clock = PhaseClock()
    with closing(Connection(ServerAddress.parse(uri), token)) as connection, closing(Scratch()) as scratch:
        database = Database(connection, collection, WRITE_POLICY)  # no question waits for its reads
        base = load_base(database, scratch.path / "base")
        settings = IndexSettings.now(embedder, collection=collection, recipe=recipe)
        changes = SourceChanges.find(documents, base, settings, lost, emptied)
        changes.check(max_removed_share)
        before = base.manifest if base else None
        is_same = before is not None and IndexSettings.of(before) == settings and not (changes.fresh or changes.removed)
        if before is not None and is_same and (dry_run or before.made == provenance):
            return summarise(before.sources, before, clock, now=before)
        cut = partial(plan, recipe=recipe, map_documents=map_documents)
        if dry_run:
            sources = list(changes.unchanged)
            for places in batched(changes.fresh, SLAB):
                sources += cut(changes.read(places), previous=PreviousChunks()).sources
            return summarise(sources, before, clock, planned=changes.plan(sources))
        version = _version(settings, provenance, changes, before)
        writer = VersionWriter(database, version, base, changes, embedder, cut, work / version)
        progress = writer.write(clock, on_progress)
        if not progress.totals.numbers:
            database.drop(version)
            raise SourceUnreadable(f"Nothing to index: {len(documents)} documents, and no text in any of them")
        bare = bare_manifest(
            version,
            settings,
            sources=(*progress.sources, *changes.unchanged),
            chunks=len(progress.totals.numbers),
            next_number=progress.next_number,
            fields=progress.fields,
            provenance=provenance,
        )
        now = write_facts(database, bare, progress.totals, writer.fitted, embedder, scratch)
        clock.lap("facts")
        remove_progress(work)
        if switch:
            database.switch(version)
        planned = changes.plan(now.sources, progress)
        return summarise(now.sources, before, clock, now=now, planned=planned, embedded=progress.embedded)


def _version(settings: IndexSettings, provenance: Provenance, changes: SourceChanges, before: Manifest | None) -> str:
    """Return the new version's name, a hash of its content, so that a second try finds the records of the first."""
    previous = before.version if before else ""
    sources = [source_keys(changes.fresh_sources), source_keys(changes.unchanged)]
    content = [settings, repr(provenance), *sources, previous]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:VERSION_CHARS]


def write_facts(
    database: Database,
    bare: Manifest,
    totals: ChunkTotals,
    fitted: ChunkReadings,
    embedder: Embedder,
    scratch: Scratch,
) -> Manifest:
    """Make the facts of the written chunks, save them on the server, and return the whole manifest.

    ``bare`` is the manifest without the facts' records.
    """
    folder, name, numbers = scratch.path / "facts", database.chunks(bare.version), totals.ascending
    (folder / TOKENS_FOLDER).mkdir(parents=True)
    totals.save(folder)
    totals.write_facts(folder)
    if len(numbers) <= TABLE_CHUNKS:
        lexical = _write_tables(database, name, folder, numbers.tolist())
    else:
        sample = [chunk.text for chunk in _sample(database, name, numbers, SAMPLE)]
        texts = (embed_text(one.chunk.title, one.chunk.text) for some in database.scan(name) for one in some)
        lexical = write_term_counts(folder / LEXICAL_FOLDER, sample, texts)
        save_array(folder / LEXICAL_FOLDER / NUMBERS_NAME, numbers)
    tokens = None
    if fitted.projection is not None:
        fitted.projection.save(folder / TOKENS_FOLDER)
        tokens = {"bits": BITS, "fitted_on": fitted.fitted_on}
    manifest = replace(bare, files=file_records(folder), lexical=lexical, tokens=tokens)
    if tokens is not None and isinstance(embedder, TokenEmbedder):
        index = ServerIndex(database, manifest, folder, embedder, scratch)
        sample = [chunk.text for chunk in _sample(database, name, numbers, SAMPLE)]
        calibration = calibration_of(lambda text: index.search([View(text)], k=1).evidence, lexical, sample)
        manifest = replace(manifest, calibration=calibration)
    (folder / MANIFEST_NAME).write_text(dumps(manifest), encoding="utf-8")
    database.save_facts(bare.version, folder, model=bare.model, dimensions=bare.dimensions)
    return manifest


def _write_tables(database: Database, name: str, folder: Path, numbers: list[int]) -> Mapping[str, object]:
    """Write BM25 and the metadata of all chunks as tables, and return the manifest's record of BM25."""
    texts: list[str] = []

    def metadatas() -> Iterator[Mapping[str, Scalar]]:
        for batch in batched(numbers, RESULTS):
            for one in sorted(database.get_chunks(name, batch), key=lambda one: one.chunk.number):
                texts.append(embed_text(one.chunk.title, one.chunk.text))
                yield to_metadata(one.chunk)

    write_columns(folder / COLUMNS_FOLDER, metadatas())
    return write_lexical(folder / LEXICAL_FOLDER, numbers, texts)


def _sample(database: Database, name: str, numbers: NDArray[np.int64], size: int) -> list[Chunk]:
    """Return ``size`` random chunks, or all if there are fewer."""
    chosen = np.random.default_rng(0).choice(numbers, min(size, len(numbers)), replace=False).tolist()
    return [one.chunk for one in database.get_chunks(name, chosen)]
