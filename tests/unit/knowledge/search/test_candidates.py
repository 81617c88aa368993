"""Choosing the best rows, and standard scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.search.candidates import Signal, best_rows


@given(scores=st.lists(st.integers(0, 5), max_size=30), k=st.integers(1, 35))
def test_the_best_rows_are_the_first_of_a_stable_sort(scores: list[int], k: int) -> None:
    rows = np.arange(len(scores), dtype=np.int64) * 3 + 1
    expected = sorted(sorted(rows, key=lambda row: -scores[(row - 1) // 3])[:k])

    assert best_rows(np.array(scores, dtype=np.float32), rows, k).tolist() == expected


def test_standard_scores_are_deviations_above_the_collections_mean() -> None:
    signal = Signal(np.array([0.5, 0.2, 0.1], dtype=np.float32), 0.2, 0.1)

    assert signal.z == pytest.approx([3, 0, -1], abs=1e-5)


@pytest.mark.parametrize("std", [0.0, 1e-9])
def test_where_all_chunks_are_alike_nothing_deviates(std: float) -> None:
    assert Signal(np.array([0.50001, 0.5], dtype=np.float32), 0.5, std).z.tolist() == [0, 0]
