"""Retrieval: from a search query to hits on the profile's scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from knowledge.model.values import Hit, SearchResult
from rag.find.retrieve.blend import blended
from rag.ports.index import Index
from rag.values.question import SearchQuery

type Scale = Callable[[float], float]
"""From a distance-free cosine (-1..1) to the profile's score."""


def l2_scale(cosine: float) -> float:
    """Waypoint's scale: 1 - d with d the squared L2 distance of unit vectors, d = 2 (1 - cos); -3..1."""
    return 2 * cosine - 1


def cosine_scale(cosine: float) -> float:
    """The plain cosine, -1..1."""
    return cosine


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Embeds the query's views with the index's own embedder and asks Chroma for the chunks nearest to their mean."""

    index: Index
    scale: Scale

    def __call__(self, query: SearchQuery) -> SearchResult:
        """See ``rag.ports.index.Retriever``."""
        with self.index.lease() as index:
            hits = index.nearest(blended(query, index.embedder), k=query.top_k, where=query.where, with_vectors=True)
        return SearchResult(tuple(self._scaled(hit) for hit in hits))

    def _scaled(self, hit: Hit) -> Hit:
        score = self.scale(hit.parts["dense"])
        return replace(hit, score=score, distance=1 - score)
