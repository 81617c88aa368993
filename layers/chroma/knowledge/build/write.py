"""Write an index: a data folder of its own, flushed to the disk, then the manifest that names it, in one step.

A process that is killed at any moment leaves the index that there was, and so does a cut of the power.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from knowledge.build.calibrate import calibrate
from knowledge.build.durable import flush, flush_names
from knowledge.build.embed import ChunkEmbeddings
from knowledge.build.labels import carried
from knowledge.build.plan import Plan, content_version
from knowledge.build.reading import write_tokens
from knowledge.build.unwritten import telling_unwritten
from knowledge.build.update import Update
from knowledge.cut.embedding_text import embed_text
from knowledge.engines.embedded.collection import SQLITE_NAME, Collection
from knowledge.engines.metadata import merge_types, to_metadata
from knowledge.model.manifest import MANIFEST_NAME, UNKNOWN, FileRecord, Manifest, Provenance, Source, dumps
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.open.source import CHROMA_FOLDER, file_digest
from knowledge.open.texts import write_texts
from knowledge.search.codes import BITS
from knowledge.search.columns import COLUMNS_FOLDER, write_columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER, write_lexical
from knowledge.search.vectors import write_vectors

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

MOUNTS = "/mnt/"
READ_FOR_S = 900.0
"""Longer than a reader takes that has begun to copy an index, and than NFS clients go on with the manifest before."""


class Settings(NamedTuple):
    """What every chunk and vector of an index depends on besides the documents and the format."""

    model: str
    dimensions: int
    collection: str
    max_chars: int
    overlap: int
    recipe: int
    has_tokens: bool


def write_index(
    target: Path,
    planned: Plan,
    embedded: ChunkEmbeddings,
    embedder: Embedder,
    *,
    settings: Settings,
    made: Provenance,
    before: Manifest | None,
    update: Update | None,
) -> Manifest:
    """Write the index of ``planned`` to ``target`` and put it in the place of ``before``, whose labels it keeps.

    With an ``update`` most of it is taken from there.

    Raises:
        IndexNotWritten: the disk is full, or a file could not be written; ``before`` is still in place.
    """
    data = target / f"data-{secrets.token_hex(6)}"
    try:
        with telling_unwritten(target):
            written = write_data(data, planned.chunks, embedded, settings.collection, embedder, update)
            now = describe(data, planned, settings, written, made)
            changed = update.changed(planned.chunks) if update else 0
            manifest = carried(replace(now, updated=changed), before)
    except BaseException:
        shutil.rmtree(data, ignore_errors=True)
        raise
    switch(target, manifest)
    if before is not None:
        with suppress(OSError):
            os.utime(target / before.data)  # when it was replaced, for remove_data
    return manifest


def remade(target: Path, manifest: Manifest, made: Provenance) -> Manifest:
    """The index in ``target``, whose manifest this is, with another record of what it was made of."""
    now = replace(manifest, made=made)
    if dumps(now) != dumps(manifest):
        switch(target, now)
    return now


def remove_data(target: Path, *, keep: str | None) -> None:
    """Remove what killed runs left, and the data folders before the current one, which is called ``keep``.

    On a mounted file system, what was replaced within ``READ_FOR_S`` stays: another machine may be reading it still.
    """
    kept_s = READ_FOR_S if str(target.resolve()).startswith(MOUNTS) else 0.0
    for path in target.glob("data-*"):
        if path.name != keep and path.stat().st_mtime <= time.time() - kept_s:
            shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRecords:
    """The manifest's records of BM25 and, None where there are none, of the token vectors and the calibration."""

    lexical: Mapping[str, object]
    tokens: Mapping[str, object] | None
    calibration: Mapping[str, object] | None


def write_data(
    data: Path,
    chunks: Sequence[Chunk],
    embedded: ChunkEmbeddings,
    collection: str,
    embedder: Embedder,
    update: Update | None,
) -> IndexRecords:
    """Write the new folder ``data``: vectors and metadata in Chroma; beside it texts, BM25, a matrix and the tokens.

    What it then says of questions about nothing is its calibration, but for an ``update``, which keeps the one before.
    """
    chroma = data / CHROMA_FOLDER
    if update:
        data.mkdir()
        update.write_chroma(chroma, chunks, embedded.vectors, collection)
    else:
        _make_chroma(chroma, chunks, embedded.vectors, collection)
    write_texts(data, ((chunk.number, chunk.text) for chunk in chunks))
    write_vectors(data, embedded.vectors)
    write_columns(data / COLUMNS_FOLDER, map(to_metadata, chunks))
    record = None
    if tokens := embedded.tokens:
        write_tokens(data / TOKENS_FOLDER, tokens.chunks, tokens.projection, vocabulary=tokens.vocabulary)
        record = {"bits": BITS, "fitted_on": tokens.fitted_on}
    numbers = [chunk.number for chunk in chunks]
    if update:
        lexical, calibration = update.write_lexical(data / LEXICAL_FOLDER, chunks), update.calibration
    else:
        texts = (embed_text(chunk.title, chunk.text) for chunk in chunks)
        lexical, calibration = write_lexical(data / LEXICAL_FOLDER, numbers, texts), None
    if not update and embedded.tokens is not None and isinstance(embedder, TokenEmbedder):
        calibration = calibrate(data, embedded.vectors, chunks, lexical, embedder)
    for path in (*data.rglob("*"), data, data.parent):
        flush(path)
    return IndexRecords(lexical=lexical, tokens=record, calibration=calibration)


def _make_chroma(chroma: Path, chunks: Sequence[Chunk], vectors: Matrix, collection: str) -> None:
    chroma.mkdir(parents=True)
    with closing(Collection.create(chroma, collection)) as made:
        made.add(chunks, vectors)
    with closing(sqlite3.connect(chroma / SQLITE_NAME)) as database:
        database.execute("VACUUM")  # the log that Chroma has worked off leaves the file up to twice as large


def describe(
    data: Path,
    planned: Plan,
    settings: Settings,
    written: IndexRecords,
    made: Provenance,
) -> Manifest:
    """The manifest of the data folder ``data``, written and closed."""
    fields: dict[str, str] = {}
    for chunk in planned.chunks:
        fields = merge_types(fields, to_metadata(chunk))
    bare = bare_manifest(
        content_version(planned.chunks, **settings._asdict()),
        settings,
        sources=planned.sources,
        chunks=len(planned.chunks),
        next_number=planned.next_number,
        fields=fields,
        made=made,
    )
    return replace(
        bare,
        data=data.name,
        files=file_records(data),
        lexical=written.lexical,
        tokens=written.tokens,
        calibration=written.calibration,
    )


def bare_manifest(
    version: str,
    settings: Settings,
    *,
    sources: tuple[Source, ...],
    chunks: int,
    next_number: int,
    fields: Mapping[str, str],
    made: Provenance = UNKNOWN,
) -> Manifest:
    """The manifest of an index made now, without its files and what is in them; ``data`` is named by the version."""
    return Manifest(
        version=version,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        data=f"data-{version}",
        collection=settings.collection,
        model=settings.model,
        dimensions=settings.dimensions,
        max_chars=settings.max_chars,
        overlap=settings.overlap,
        recipe=settings.recipe,
        documents=sum(1 for source in sources if source.chunks),
        chunks=chunks,
        next_number=next_number,
        fields=fields,
        sources=sources,
        files={},
        made=made,
    )


def file_records(folder: Path) -> dict[str, FileRecord]:
    """The records of all files below ``folder``, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): FileRecord(sha256=file_digest(path), bytes=path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def switch(target: Path, manifest: Manifest) -> None:
    """Put ``manifest`` in place in one step: before it readers get the old index, after it the new one."""
    new = target / f"{MANIFEST_NAME}.new"
    with telling_unwritten(target):
        new.write_text(dumps(manifest), encoding="utf-8")
        flush(new)
        new.replace(target / MANIFEST_NAME)
    flush_names(target)
