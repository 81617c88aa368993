"""rag.find.retrieve.hybrid: one scale for two kinds of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.search.candidates import Signal
from rag.find.retrieve.hybrid import best_first, fuse

COSINES = Signal(np.array([0.7, 0.4, 0.1], dtype=np.float32), 0.1, 0.1)
BM25 = Signal(np.array([0.0, 8.0, 4.0], dtype=np.float32), 0.5, 0.5)


@pytest.mark.parametrize(
    ("weight", "fused"),
    [(1.0, [6, 3, 0]), (0.0, [-1, 15, 7]), (0.7, [3.9, 6.6, 2.1])],
)
def test_fused_scores_are_weighted_deviations(weight: float, fused: list[float]) -> None:
    assert fuse(COSINES, BM25, weight) == pytest.approx(fused, abs=1e-4)


def test_words_that_no_chunk_holds_leave_the_dense_order() -> None:
    nothing = Signal(np.zeros(3, dtype=np.float32), 0.0, 0.0)

    assert fuse(COSINES, nothing, 0.7) == pytest.approx(0.7 * COSINES.z)


@given(scale=st.floats(0.01, 100), shift=st.floats(-10, 10), weight=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_the_units_of_a_side_do_not_matter(scale: float, shift: float, weight: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=3).astype(np.float32)
    plain = Signal(values, 0.2, 0.7)
    other = Signal((values * scale + shift).astype(np.float32), 0.2 * scale + shift, 0.7 * scale)

    assert fuse(COSINES, other, weight) == pytest.approx(fuse(COSINES, plain, weight), abs=2e-2)


@given(scores=st.lists(st.integers(0, 3), max_size=20), k=st.integers(1, 25))
def test_best_first_equals_by_number(scores: list[int], k: int) -> None:
    numbers = np.arange(len(scores), dtype=np.int64)[::-1].copy()
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], numbers[row]))[:k]

    assert best_first(np.array(scores, dtype=np.float32), numbers, k).tolist() == expected
