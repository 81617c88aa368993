"""Windows: runs of about 40 tokens, kept in half a byte a dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from knowledge.search.arrays import Ragged, save_ragged
from knowledge.search.windows import SCALES_NAME, WINDOWS_NAME, WindowStore, pack, window_vectors

RANDOM = np.random.default_rng(2)


@pytest.mark.parametrize(("tokens", "windows"), [(1, 1), (40, 1), (61, 2), (200, 5)])
def test_windows_are_of_about_40_tokens(tokens: int, windows: int) -> None:
    vectors = window_vectors(RANDOM.standard_normal((tokens, 384)).astype(np.float32))
    assert vectors.shape == (windows, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(windows), abs=1e-5)


def test_the_best_window_of_each_chunk_counts(tmp_path: Path) -> None:
    rows = [window_vectors(RANDOM.standard_normal((n, 384)).astype(np.float32)) for n in (40, 100, 10)]
    stored = [pack(row) for row in rows]
    save_ragged(tmp_path, WINDOWS_NAME, [values for values, _ in stored])
    save_ragged(tmp_path, SCALES_NAME, [scales for _, scales in stored])
    store = WindowStore.open(tmp_path, rows=3, dimensions=384)
    question = rows[1][1]
    best = store.best(np.array([1, 0, 2]), question)
    assert best == pytest.approx([1, (rows[0] @ question).max(), (rows[2] @ question).max()], abs=0.03)
    assert store.best(np.array([], dtype=np.int64), question).shape == (0,)


def test_rows_of_any_length_come_back_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    save_ragged(tmp_path, "things", [np.arange(n) + 10 * n for n in (3, 0, 2)])
    things = Ragged.open(tmp_path, "things", rows=3, dtype=np.int64)
    values, starts = things.gather(np.array([2, 1, 0]))
    assert values.tolist() == [20, 21, 30, 31, 32]
    assert starts.tolist() == [0, 2, 2]
    assert things.row(1).tolist() == []
