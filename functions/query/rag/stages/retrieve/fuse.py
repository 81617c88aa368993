"""Fusion of dense and BM25 scores on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.search.candidates import Signal


def fuse(dense: Signal, bm25: Signal, dense_weight: float) -> NDArray[np.float32]:
    """``w z(dense) + (1 - w) z(bm25)``: shape (candidates,), in deviations above the whole collection's mean.

    A deviation over the collection means the same on both sides and for every question: a word that few chunks
    hold lifts them by many, one that most hold by none. Scaled over the candidates alone, the best BM25 hit would
    count 1 however little it says.
    """
    return np.asarray(dense_weight * dense.z + (1 - dense_weight) * bm25.z, dtype=np.float32)


def best_first(scores: NDArray[np.float32], numbers: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """The positions of the ``k`` highest ``scores``, best first, equals by chunk number."""
    return np.lexsort((numbers, -scores))[:k]
