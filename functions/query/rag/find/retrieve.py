"""Retrievers: by vector, by vector and BM25, and by all signals of the index. A profile picks one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding import question_text
from knowledge.model.values import Embedder, Hit, SearchResult, Vector, View
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Signal
from rag.ports import Index, Retriever
from rag.values.question import SearchQuery


def blend_views(query: SearchQuery, embedder: Embedder) -> Vector:
    """Return the weighted mean of the vectors of ``query.text`` (weight 1) and its further views, of unit length.

    A cosine with it is the weighted mean of the views' cosines, times a factor. Views within a filter are left out.
    """
    views = [view for view in query.views if view.where is None]
    vectors = embedder.embed([question_text(text) for text in (query.text, *(view.text for view in views))])
    if not views:
        return np.asarray(vectors[0])
    mean = np.array([1, *(view.weight for view in views)], dtype=np.float32) @ vectors
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)


type Scale = Callable[[float], float]
"""Converts a cosine (-1..1) to the profile's score."""


def l2_scale(cosine: float) -> float:
    """Return Waypoint's score: 1 - d, with d the squared L2 distance of unit vectors, d = 2 (1 - cos); -3..1."""
    return 2 * cosine - 1


def cosine_scale(cosine: float) -> float:
    """Return the plain cosine, -1..1."""
    return cosine


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Embeds the query's views with the index's embedder and asks Chroma for the chunks nearest to their mean."""

    index: Index
    scale: Scale

    def __call__(self, query: SearchQuery) -> SearchResult:
        with self.index.lease() as index:
            hits = index.nearest(blend_views(query, index.embedder), k=query.top_k, where=query.where)
        return SearchResult(tuple(replace(hit, score=self.scale(hit.parts["dense"])) for hit in hits))


def fuse(dense: Signal, bm25: Signal, dense_weight: float) -> NDArray[np.float32]:
    """Return ``w z(dense) + (1 - w) z(bm25)``: shape (candidates,), in deviations above the whole collection's mean.

    A deviation over the collection means the same on both sides and for every question. Scaled over the candidates
    only, the best BM25 hit would always count 1.
    """
    return np.asarray(dense_weight * dense.z + (1 - dense_weight) * bm25.z, dtype=np.float32)


def best_first(scores: NDArray[np.float32], numbers: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` highest ``scores``, best first, equals by chunk number."""
    return np.lexsort((numbers, -scores))[:k]


DENSE_WEIGHT = 0.7
"""Clockify's: BM25 has the other .3. On z-scores it is within .014 nDCG@10 of the best weight of each development set
(.6 on SQuAD, .8 on ClapNQ, .9 on COVID FAQ)."""


@dataclass(frozen=True, slots=True)
class HybridRetriever:
    """Searches the whole index by vector and by BM25 and fuses their z-scores (``fuse``).

    The vector is the mean of the query's views, the words come from the question only. ``dense_weight`` (0..1) is the
    weight of the vector's side.
    """

    index: Index
    dense_weight: float = DENSE_WEIGHT

    def __call__(self, query: SearchQuery) -> SearchResult:
        """Return the hits.

        A hit's ``score`` is the cosine that lies as many deviations above the collection's mean cosine as its fused
        score says (in line with cosines, but not bounded by 1). ``parts`` are ``dense`` (the chunk's cosine),
        ``bm25`` (its BM25 score, >= 0) and ``fused`` (deviations). ``vector`` is filled.
        """
        with self.index.lease() as index:
            vector = blend_views(query, index.embedder)
            found = index.candidates(query.text, vector, k=max(CANDIDATES_PER_SIDE, query.top_k), where=query.where)
            fused = fuse(found.dense, found.bm25, self.dense_weight)
            order = best_first(fused, found.numbers, query.top_k)
            chunks = index.fetch(found.numbers[order].tolist())
        hits = []
        for row, chunk in zip(order, chunks, strict=True):
            score = found.dense.mean + found.dense.std * float(fused[row])
            parts = {
                "dense": float(found.dense.values[row]),
                "bm25": float(found.bm25.values[row]),
                "fused": float(fused[row]),
            }
            hits.append(Hit(chunk=chunk, score=score, parts=parts, vector=found.vectors[row]))
        return SearchResult(tuple(hits))


NOT_LATE = "this index has no token vectors: searched by words and meaning only; run ragctl ingest"


@dataclass(frozen=True, slots=True)
class LateRetriever:
    """Searches by all signals (dense, words, windows, late interaction), for the question and its other views.

    An index without token vectors (made elsewhere, or with a remote embedder) is searched by ``hybrid``, and
    ``SearchResult.trail`` says so. Scores are about .2 to 1, as ``knowledge.search`` explains.
    """

    index: Index
    hybrid: Retriever

    def __call__(self, query: SearchQuery) -> SearchResult:
        with self.index.lease() as index:
            if index.late:
                return index.search((View(query.text), *query.views), k=query.top_k, where=query.where)
        return replace(self.hybrid(query), trail=(NOT_LATE,))
