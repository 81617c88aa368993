"""Writing an index: a new data folder, flushed to the disk, then the manifest that names it, in one step.

A process that is killed at any moment leaves the index as it was, and so does a cut of the power.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge.build.calibrate import calibrate
from knowledge.build.durable import flush, flush_names, write_errors, writer_lock
from knowledge.build.embed import ChunkEmbeddings
from knowledge.build.labels import carry_labels, with_labels
from knowledge.build.plan import IndexSettings, Plan, content_version
from knowledge.build.previous import IndexUpdate
from knowledge.build.reading import write_tokens
from knowledge.embedding import embed_text
from knowledge.engines.collection import SQLITE_NAME, Collection
from knowledge.engines.metadata import merge_types, to_metadata
from knowledge.model.errors import IndexLocked, IndexMissing
from knowledge.model.manifest import (
    MANIFEST_NAME,
    NO_PROVENANCE,
    FileRecord,
    Manifest,
    Provenance,
    SourceRecord,
    dumps,
)
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.open.place import read_manifest
from knowledge.open.source import CHROMA_FOLDER, file_digest
from knowledge.open.texts import write_texts
from knowledge.search.columns import COLUMNS_FOLDER, write_columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER, write_lexical
from knowledge.search.tokens import BITS
from knowledge.search.vectors import write_vectors

if TYPE_CHECKING:
    pass

MOUNTS = "/mnt/"
READ_FOR_S = 900.0
"""Longer than a reader takes that has begun to copy an index, and than NFS clients go on with the manifest before."""


def write_index(
    target: Path,
    planned: Plan,
    embedded: ChunkEmbeddings,
    embedder: Embedder,
    *,
    settings: IndexSettings,
    provenance: Provenance,
    before: Manifest | None,
    update: IndexUpdate | None,
) -> Manifest:
    """Write the index of ``planned`` to ``target`` and put it in the place of ``before``, whose labels it keeps.

    With an ``update`` most of it is copied from there.

    Raises:
        IndexNotWritten: the disk is full, or a file could not be written; ``before`` is still in place.
    """
    data = target / f"data-{secrets.token_hex(6)}"
    try:
        with write_errors(target):
            records = _write_data(data, planned.chunks, embedded, settings.collection, embedder, update)
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
                provenance=provenance,
            )
            now = replace(
                bare,
                data=data.name,
                files=file_records(data),
                **records,
                updated=update.count_changed(planned.chunks) if update else 0,
            )
            manifest = carry_labels(now, before)
    except BaseException:
        shutil.rmtree(data, ignore_errors=True)
        raise
    switch_manifest(target, manifest)
    if before is not None:
        with suppress(OSError):
            os.utime(target / before.data)  # when it was replaced, for remove_data
    return manifest


def replace_provenance(target: Path, manifest: Manifest, provenance: Provenance) -> Manifest:
    """Replace the provenance of the index in ``target``, whose ``manifest`` this is, and return the new manifest."""
    now = replace(manifest, made=provenance)
    if dumps(now) != dumps(manifest):
        switch_manifest(target, now)
    return now


def write_labels(target: Path, labels: Mapping[str, object] | None, *, version: str) -> Manifest:
    """Give the index in the folder ``target`` these ``labels``, or none, and return its manifest.

    ``version`` is that of the index that they were measured on. An index that has them already is not touched.

    Raises:
        IndexMissing: there is none.
        IndexLocked: another process is writing it, or has replaced it since.
    """
    with writer_lock(target):
        manifest = read_manifest(target)
        if manifest is None:
            raise IndexMissing(f"No index is loaded. Run: ragctl ingest PATH (looked in {str(target)!r})")
        if manifest.version != version:
            raise IndexLocked(f"The index in {str(target)!r} was replaced while it was measured: calibrate it again")
        now = with_labels(manifest, labels)
        if now != manifest:
            switch_manifest(target, now)
        return now


def switch_manifest(target: Path, manifest: Manifest) -> None:
    """Put ``manifest`` in place in one step: before it readers get the old index, after it the new one."""
    new = target / f"{MANIFEST_NAME}.new"
    with write_errors(target):
        new.write_text(dumps(manifest), encoding="utf-8")
        flush(new)
        new.replace(target / MANIFEST_NAME)
    flush_names(target)


def remove_data(target: Path, *, keep: str | None) -> None:
    """Remove data folders that killed runs left, and all older than the current one, which is called ``keep``.

    On a mounted file system, what was replaced within ``READ_FOR_S`` stays: another machine may still read it.
    """
    kept_s = READ_FOR_S if str(target.resolve()).startswith(MOUNTS) else 0.0
    for path in target.glob("data-*"):
        if path.name != keep and path.stat().st_mtime <= time.time() - kept_s:
            shutil.rmtree(path, ignore_errors=True)


def bare_manifest(
    version: str,
    settings: IndexSettings,
    *,
    sources: tuple[SourceRecord, ...],
    chunks: int,
    next_number: int,
    fields: Mapping[str, str],
    provenance: Provenance = NO_PROVENANCE,
) -> Manifest:
    """Return the manifest of an index made now, without its files and their records; ``data`` is named by version."""
    made_with = settings._asdict()
    del made_with["has_tokens"]  # the manifest has the record of the tokens instead
    return Manifest(
        **made_with,
        version=version,
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        data=f"data-{version}",
        documents=sum(1 for source in sources if source.chunks),
        chunks=chunks,
        next_number=next_number,
        fields=fields,
        sources=sources,
        files={},
        made=provenance,
    )


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Return the records of all files below ``folder``, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): FileRecord(sha256=file_digest(path), bytes=path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _write_data(
    data: Path,
    chunks: Sequence[Chunk],
    embedded: ChunkEmbeddings,
    collection: str,
    embedder: Embedder,
    update: IndexUpdate | None,
) -> dict[str, Any]:
    """Write the new folder ``data``: vectors and metadata in Chroma; beside it texts, BM25, a matrix and the tokens.

    Returns the manifest's records of BM25, token vectors and calibration; the last two may be None. A new index is
    calibrated; an ``update`` keeps the calibration of the one before.
    """
    chroma = data / CHROMA_FOLDER
    if update:
        data.mkdir()
        update.write_chroma(chroma, chunks, embedded.vectors, collection)
    else:
        chroma.mkdir(parents=True)
        with closing(Collection.create(chroma, collection)) as created:
            created.add(chunks, embedded.vectors)
        with closing(sqlite3.connect(chroma / SQLITE_NAME)) as database:
            database.execute("VACUUM")  # the log that Chroma has worked off leaves the file up to twice as large
    write_texts(data, ((chunk.number, chunk.text) for chunk in chunks))
    write_vectors(data, embedded.vectors)
    write_columns(data / COLUMNS_FOLDER, map(to_metadata, chunks))
    tokens = None
    if embedded.projection is not None and isinstance(embedder, TokenEmbedder):
        write_tokens(data / TOKENS_FOLDER, embedded.tokens, embedded.projection, vocabulary=embedder.vocabulary)
        tokens = {"bits": BITS, "fitted_on": embedded.fitted_on}
    if update:
        lexical, calibration = update.write_lexical(data / LEXICAL_FOLDER, chunks), update.calibration
    else:
        numbers = [chunk.number for chunk in chunks]
        texts = (embed_text(chunk.title, chunk.text) for chunk in chunks)
        lexical, calibration = write_lexical(data / LEXICAL_FOLDER, numbers, texts), None
        if tokens is not None and isinstance(embedder, TokenEmbedder):
            calibration = calibrate(data, embedded.vectors, chunks, lexical, embedder)
    for path in (*data.rglob("*"), data, data.parent):
        flush(path)
    return {"lexical": lexical, "tokens": tokens, "calibration": calibration}
