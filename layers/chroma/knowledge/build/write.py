"""The effects of building an index: embed what is new, write a data folder, switch the manifest to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from knowledge.build.calibrate import calibrate
from knowledge.build.plan import Plan, Previous, content_version, embed_key
from knowledge.build.reading import ChunkTokens, Known, read_chunks, texts_of, write_tokens
from knowledge.cut.embedding_text import embed_text
from knowledge.open.collection import SQLITE_NAME, Collection
from knowledge.open.manifest import MANIFEST_NAME, FileRecord, Manifest, Source, dumps
from knowledge.open.metadata import merge_types, to_metadata
from knowledge.open.source import CHROMA_FOLDER, file_digest
from knowledge.open.texts import write_texts
from knowledge.search.codes import BITS, Projection
from knowledge.search.columns import COLUMNS_FOLDER, write_columns
from knowledge.search.lexical import LEXICAL_FOLDER, write_lexical
from knowledge.search.look import TOKENS_FOLDER, TOKENS_RECIPE
from knowledge.search.vectors import write_vectors
from knowledge.types import Chunk, Embedder, TokenEmbedder

if TYPE_CHECKING:
    from knowledge.types import Matrix

EMBED_BATCH_TEXTS = 128


class Settings(NamedTuple):
    """What every chunk and vector of an index depends on besides the documents."""

    model: str
    dimensions: int
    collection: str
    max_chars: int
    overlap: int
    recipe: int
    lexical_recipe: int
    tokens_recipe: int
    calibration_recipe: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Embedded:
    """What the model says of chunks, in their order: the ``vectors``, one a row, and what is kept of their tokens.

    ``tokens`` is None where the embedder tells none. ``fresh`` is how many texts had to be embedded.
    """

    vectors: Matrix
    fresh: int
    tokens: TokensRead | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokensRead:
    """The tokens of each chunk, and the projection of their codes, which was fitted on ``fitted_on`` chunks."""

    chunks: Sequence[ChunkTokens]
    projection: Projection
    fitted_on: int
    vocabulary: int


def embed_chunks(
    chunks: Sequence[Chunk],
    previous: Previous,
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None,
) -> Embedded:
    """What ``embedder`` says of ``chunks``; what ``previous`` has is not asked for again."""
    if isinstance(embedder, TokenEmbedder):
        return _read(chunks, previous.known, embedder, on_progress)
    return _embed(chunks, previous, embedder, on_progress)


def _read(
    chunks: Sequence[Chunk],
    known: Known,
    embedder: TokenEmbedder,
    on_progress: Callable[[int, int], None] | None,
) -> Embedded:
    texts = texts_of(chunks)
    keys = [text.digest() for text in texts]
    read = read_chunks(dict(zip(keys, texts, strict=True)), known, embedder, on_progress)
    tokens = TokensRead(
        chunks=[read.chunks[key][1] for key in keys],
        projection=read.projection,
        fitted_on=read.fitted_on,
        vocabulary=embedder.vocabulary,
    )
    return Embedded(vectors=np.stack([read.chunks[key][0] for key in keys]), fresh=read.fresh, tokens=tokens)


def _embed(
    chunks: Sequence[Chunk],
    previous: Previous,
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None,
) -> Embedded:
    keys = [embed_key(chunk.title, chunk.text) for chunk in chunks]
    known = dict(previous.vectors)
    missing = {
        key: embed_text(chunk.title, chunk.text) for key, chunk in zip(keys, chunks, strict=True) if key not in known
    }
    # Texts of like length side by side cost the least padding; the longest first, so that the end comes no later
    # than the progress says.
    pending = sorted(missing.items(), key=lambda item: len(item[1]), reverse=True)
    for start in range(0, len(pending), EMBED_BATCH_TEXTS):
        batch = pending[start : start + EMBED_BATCH_TEXTS]
        vectors = embedder.embed([text for _, text in batch])
        known.update(zip((key for key, _ in batch), vectors, strict=True))
        if on_progress is not None:
            on_progress(start + len(batch), len(pending))
    return Embedded(vectors=np.stack([known[key] for key in keys]), fresh=len(pending))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The manifest's records of BM25 and, None where there are none, of the token vectors and the calibration."""

    lexical: Mapping[str, object]
    tokens: Mapping[str, object] | None
    calibration: Mapping[str, object] | None


def write_data(data: Path, chunks: Sequence[Chunk], embedded: Embedded, collection: str, embedder: Embedder) -> Written:
    """Write the new folder ``data``: vectors and metadata in Chroma; beside it texts, BM25, a matrix and the tokens.

    What it then says of questions about nothing is its calibration.
    """
    chroma = data / CHROMA_FOLDER
    chroma.mkdir(parents=True)
    with closing(Collection.create(chroma, collection)) as made:
        made.add(chunks, embedded.vectors)
    with closing(sqlite3.connect(chroma / SQLITE_NAME)) as database:
        database.execute("VACUUM")  # the log that Chroma has worked off leaves the file up to twice as large
    write_texts(data, ((chunk.number, chunk.text) for chunk in chunks))
    write_vectors(data, embedded.vectors)
    write_columns(data / COLUMNS_FOLDER, [to_metadata(chunk) for chunk in chunks])
    record = None
    if tokens := embedded.tokens:
        write_tokens(data / TOKENS_FOLDER, tokens.chunks, tokens.projection, vocabulary=tokens.vocabulary)
        record = {"recipe": TOKENS_RECIPE, "bits": BITS, "fitted_on": tokens.fitted_on}
    numbers = [chunk.number for chunk in chunks]
    texts = (embed_text(chunk.title, chunk.text) for chunk in chunks)
    lexical = write_lexical(data / LEXICAL_FOLDER, numbers, texts)
    calibration = None
    if embedded.tokens is not None and isinstance(embedder, TokenEmbedder):
        calibration = calibrate(data, embedded.vectors, numbers, lexical, embedder)
    for path in (*data.rglob("*"), data, data.parent):
        _flush(path)
    return Written(lexical=lexical, tokens=record, calibration=calibration)


def describe(
    data: Path,
    planned: Plan,
    settings: Settings,
    written: Written,
) -> Manifest:
    """The manifest of the data folder ``data``, written and closed."""
    fields: dict[str, str] = {}
    for chunk in planned.chunks:
        fields = merge_types(fields, to_metadata(chunk))
    return Manifest(
        version=content_version(planned.chunks, **settings._asdict()),
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        data=data.name,
        collection=settings.collection,
        model=settings.model,
        dimensions=settings.dimensions,
        max_chars=settings.max_chars,
        overlap=settings.overlap,
        recipe=settings.recipe,
        documents=sum(1 for count in planned.counts if count),
        chunks=len(planned.chunks),
        next_number=planned.next_number,
        fields=fields,
        sources=tuple(
            Source(path=document.path, digest=document.digest, doc_id=document.doc_id, chunks=count)
            for document, count in zip(planned.documents, planned.counts, strict=True)
        ),
        files={
            path.relative_to(data).as_posix(): FileRecord(sha256=file_digest(path), bytes=path.stat().st_size)
            for path in sorted(data.rglob("*"))
            if path.is_file()
        },
        lexical=written.lexical,
        tokens=written.tokens,
        calibration=written.calibration,
    )


def switch(target: Path, manifest: Manifest) -> None:
    """Put ``manifest`` in place in one step: before it readers get the old index, after it the new one."""
    new = target / f"{MANIFEST_NAME}.new"
    new.write_text(dumps(manifest), encoding="utf-8")
    _flush(new)
    os.replace(new, target / MANIFEST_NAME)
    _flush(target)


def _flush(path: Path) -> None:
    """Have the disk hold a file or folder before anything refers to it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
