"""Retrieval: from a search query to hits on the profile's scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from knowledge.search.candidates import Candidates
from rag.values.answer import Chunk, Embedder, Hit, SearchQuery, Where

type Scale = Callable[[float], float]
"""From a distance-free cosine (-1..1) to the profile's score."""


def l2_scale(cosine: float) -> float:
    """Waypoint's scale: 1 - d with d the squared L2 distance of unit vectors, d = 2 (1 - cos); -3..1."""
    return 2 * cosine - 1


def cosine_scale(cosine: float) -> float:
    """The plain cosine, -1..1."""
    return cosine


class OpenIndex(Protocol):
    """What retrieval needs of an open index."""

    @property
    def embedder(self) -> Embedder:
        """The index's own embedder."""
        ...

    def search(self, vector: np.ndarray, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to ``vector``; scores are cosines."""
        ...

    def candidates(self, text: str, vector: np.ndarray, *, k: int, where: Where | None = None) -> Candidates:
        """The ``k`` nearest chunks and the ``k`` best by their words, each with both scores."""
        ...

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """The chunks of ``numbers``, in that order."""
        ...


class IndexSource(Protocol):
    """Hands out the index that is current, and keeps it open while it is used."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """One immutable open index for the length of a ``with`` block."""
        ...


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Embeds the query with the index's own embedder and asks Chroma for the nearest chunks."""

    index: IndexSource
    scale: Scale

    def __call__(self, query: SearchQuery) -> tuple[Hit, ...]:
        """See ``rag.ports.Retriever``."""
        with self.index.lease() as index:
            vector = index.embedder.embed([query.text])[0]
            hits = index.search(vector, k=query.top_k, where=query.where)
        return tuple(self._scaled(hit) for hit in hits)

    def _scaled(self, hit: Hit) -> Hit:
        score = self.scale(hit.parts["dense"])
        return replace(hit, score=score, distance=1 - score)
