"""The matrix of unit vectors: cosines of rows, and what all cosines amount to."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexDamaged
from knowledge.model.values import Matrix
from knowledge.search.vectors import BLOCK_ROWS, MOMENTS_NAME, VECTORS_NAME, VectorStore, write_vectors

BYTE_PRECISION = 8e-3
"""In 16 dimensions; in 384 it is a tenth."""


def units(count: int, dimensions: int = 16, *, seed: int = 0) -> Matrix:
    matrix = np.random.default_rng(seed).normal(0.3, 1, (count, dimensions))
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)


def stored(folder: Path, vectors: Matrix) -> VectorStore:
    write_vectors(folder, vectors)
    return VectorStore(folder, rows=len(vectors), dimensions=vectors.shape[1])


@given(count=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_rows_cosines_and_statistics_are_those_of_the_vectors(count: int, seed: int) -> None:
    vectors, question = units(count, seed=seed), units(1, seed=seed + 1)[0]
    cosines = vectors @ question
    rows = np.random.default_rng(seed).permutation(count)[: count // 2]
    with tempfile.TemporaryDirectory() as folder:
        store = stored(Path(folder), vectors)

        assert store.rows(rows) == pytest.approx(vectors[rows], abs=BYTE_PRECISION)
        assert store.cosines(rows, question) == pytest.approx(cosines[rows], abs=BYTE_PRECISION)
        mean, std = store.moments.statistics(question)
        assert mean == pytest.approx(cosines.mean(), abs=BYTE_PRECISION)
        assert std == pytest.approx(cosines.std(), abs=BYTE_PRECISION)


def test_more_rows_than_a_block_are_all_there_and_no_cosine_leaves_its_range(tmp_path: Path) -> None:
    vectors, question = units(2 * BLOCK_ROWS + 3), units(1, seed=9)[0]
    store = stored(tmp_path, vectors)
    assert store.cosines(np.arange(len(vectors)), question) == pytest.approx(vectors @ question, abs=BYTE_PRECISION)
    assert store.moments.statistics(question)[1] == pytest.approx((vectors @ question).std(), abs=1e-4)
    own = [float(store.cosines(np.array([row]), vector)[0]) for row, vector in enumerate(vectors[:50])]
    assert max(own) <= 1
    assert own == pytest.approx([1] * 50, abs=BYTE_PRECISION)


@pytest.mark.parametrize("name", [VECTORS_NAME, MOMENTS_NAME])
@pytest.mark.parametrize("harm", ["missing", "shorter", "of other dimensions", "of another kind"])
def test_a_store_that_is_not_whole_is_refused(tmp_path: Path, name: str, harm: str) -> None:
    vectors = units(3)
    write_vectors(tmp_path, vectors)
    path = tmp_path / name
    if harm == "missing":
        path.unlink()
    elif harm == "shorter":
        path.write_bytes(path.read_bytes()[:-8])
    elif harm == "of other dimensions":
        np.save(path, np.load(path)[:, :-1])
    else:
        np.save(path, np.load(path).astype(np.float64))

    with pytest.raises(IndexDamaged, match=name):
        VectorStore(tmp_path, rows=3, dimensions=16)
