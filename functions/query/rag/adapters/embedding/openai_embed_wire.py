"""What an OpenAI-compatible embedding endpoint is sent and answers: batches of texts, matrices of unit vectors."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import EmbeddingFailed

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

BATCH_TEXTS = 256
BATCH_CHARS = 100_000
"""OpenAI takes 300,000 tokens a request, and no common script has three tokens a character."""


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut ``texts`` into requests, in order.

    Each has at most BATCH_TEXTS texts and, unless one text alone is longer, BATCH_CHARS characters.
    """
    start = chars = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == BATCH_TEXTS or chars + len(text) > BATCH_CHARS):
            yield texts[start:end]
            start, chars = end, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]


def read_vectors(body: bytes, *, count: int, dimensions: int | None = None) -> Matrix:
    """The ``count`` vectors of a response, in the order of the request's texts, scaled to unit length.

    Each embedding may be a list of numbers or base64 of little-endian float32 (what OpenAI sends when asked to).

    Raises:
        EmbeddingFailed: it is not JSON, or not ``count`` usable vectors (finite, not zero) of one length, which is
            ``dimensions`` unless that is None.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise EmbeddingFailed("Unreadable embeddings: not JSON") from exc
    items = data.get("data") if isinstance(data, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise EmbeddingFailed("Unreadable embeddings: no list of vectors")
    order = [item.get("index", place) for place, item in enumerate(items)]
    if not all(type(place) is int for place in order) or sorted(order) != list(range(count)):
        raise EmbeddingFailed(f"Unreadable embeddings: {len(items)} vectors for {count} texts, or not one for each")
    rows = [_vector(item.get("embedding")) for _, item in sorted(zip(order, items, strict=True), key=lambda p: p[0])]
    if len({len(row) for row in rows}) != 1:
        raise EmbeddingFailed("Unreadable embeddings: vectors of different lengths")
    if dimensions not in (None, len(rows[0])):
        expected = f"{dimensions} are expected (see EMBED_DIMENSIONS)"
        raise EmbeddingFailed(f"Unreadable embeddings: {len(rows[0])} dimensions where {expected}")
    return _unit(np.stack(rows))


def _vector(embedding: object) -> np.ndarray:
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
        if isinstance(embedding, list) and all(type(value) in (int, float) for value in embedding):
            return np.array(embedding, dtype=np.float64)
    except (ValueError, OverflowError) as exc:
        raise EmbeddingFailed("Unreadable embeddings: not a vector") from exc
    raise EmbeddingFailed("Unreadable embeddings: not a vector")


def _unit(rows: np.ndarray) -> Matrix:
    """Scaled by the largest coordinate first, so that no square overflows or vanishes."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not (np.isfinite(largest).all() and (largest > 0).all()):
        raise EmbeddingFailed("Unreadable embeddings: a vector without a direction")
    scaled = rows / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float32)
