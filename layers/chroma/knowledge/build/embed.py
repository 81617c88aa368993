"""Embedding of an index's chunks: vectors and token vectors; known ones are reused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.plan import Plan, PreviousChunks, embed_key
from knowledge.build.reading import read_chunks, texts_of
from knowledge.embedding import embed_text
from knowledge.model.values import Chunk, Embedder, TokenEmbedder
from knowledge.search.tokens import ChunkTokens, Projection

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

EMBED_BATCH_TEXTS = 128


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChunkEmbeddings:
    """The embeddings of chunks, in their order: ``vectors`` has a row and ``tokens`` an entry for each chunk.

    ``fresh`` is the number of texts that were embedded now. ``projection`` compresses the token vectors and was fitted
    on ``fitted_on`` chunks. An embedder without token vectors gives no tokens and no projection.
    """

    vectors: Matrix
    fresh: int
    tokens: Sequence[ChunkTokens] = ()
    projection: Projection | None = None
    fitted_on: int = 0


def embed_chunks(
    planned: Plan,
    previous: PreviousChunks,
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[Plan, ChunkEmbeddings]:
    """Embed the chunks of ``planned`` that ``previous`` does not know.

    A text that the local model cannot read is its document's failure: the returned plan is then without it.
    """
    if not isinstance(embedder, TokenEmbedder):
        return planned, _embed(planned.chunks, previous, embedder, on_progress)
    readings, fresh = previous.known, 0
    while True:
        texts = texts_of(planned.chunks, previous.shared_titles)
        keys = [text.digest() for text in texts]
        readings, runs, failed = read_chunks(dict(zip(keys, texts, strict=True)), readings, embedder, on_progress)
        fresh += runs
        if not failed:
            break
        errors = {
            chunk.doc_id: f"cannot be embedded (at {chunk.section or chunk.text[:40]!r}): {failed[key]}"
            for chunk, key in zip(planned.chunks, keys, strict=True)
            if key in failed
        }
        planned = planned.without(errors, previous)
    if readings.projection is None:
        return planned, ChunkEmbeddings(vectors=np.empty((0, embedder.dimensions), np.float32), fresh=fresh)
    return planned, ChunkEmbeddings(
        vectors=np.stack([readings.chunks[key][0] for key in keys]),
        fresh=fresh,
        tokens=[readings.chunks[key][1] for key in keys],
        projection=readings.projection,
        fitted_on=readings.fitted_on or 0,
    )


def _embed(
    chunks: Sequence[Chunk],
    previous: PreviousChunks,
    embedder: Embedder,
    on_progress: Callable[[int, int], None] | None,
) -> ChunkEmbeddings:
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
    return ChunkEmbeddings(vectors=np.stack([known[key] for key in keys]), fresh=len(pending))
