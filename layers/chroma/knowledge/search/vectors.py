"""The unit vectors of an index in one matrix, beside Chroma's: cosines of given chunks, and of all in sum.

Two files: ``vectors.npy``, float16 of shape (chunks, dimensions), rows in the order of the text store, and
``moments.npy``, float32 of shape (1 + dimensions, dimensions): the mean vector, then the covariance matrix.
Half the digits cost a cosine less than 1e-4.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.search.arrays import load_array, save_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.types import Matrix, Vector

VECTORS_NAME = "vectors.npy"
MOMENTS_NAME = "moments.npy"
BLOCK_ROWS = 4096
"""So many rows are brought to full precision at a time."""


def write_vectors(folder: Path, vectors: Matrix) -> None:
    """Write the unit ``vectors``, at least one, as a store in ``folder``."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((len(mean), len(mean)))
    for start in range(0, len(vectors), BLOCK_ROWS):
        centred = vectors[start : start + BLOCK_ROWS] - mean
        covariance += centred.T @ centred
    save_array(folder / VECTORS_NAME, vectors.astype(np.float16))
    save_array(folder / MOMENTS_NAME, np.vstack([mean, covariance / len(vectors)]).astype(np.float32))


class VectorStore:
    """Reads a store. Safe to use from several threads."""

    def __init__(self, folder: Path, *, rows: int, dimensions: int) -> None:
        """Map the store in ``folder``.

        Raises:
            IndexDamaged: a file is missing, unreadable or of another shape.
        """
        self.dimensions = dimensions
        self._vectors = load_array(folder / VECTORS_NAME, dtype=np.float16, shape=(rows, dimensions))
        self._moments = load_array(folder / MOMENTS_NAME, dtype=np.float32, shape=(1 + dimensions, dimensions))

    def rows(self, rows: NDArray[np.int64]) -> Matrix:
        """The vectors of ``rows``: shape (len(rows), dimensions), float32, of unit length but for rounding."""
        return np.asarray(self._vectors[rows], dtype=np.float32)

    def cosines(self, rows: NDArray[np.int64], vector: Vector) -> NDArray[np.float32]:
        """The cosine of the unit vector ``vector`` with each of ``rows``, -1..1."""
        cosines = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            cosines[block] = self.rows(rows[block]) @ vector
        return np.clip(cosines, -1, 1, out=cosines)

    def statistics(self, vector: Vector) -> tuple[float, float]:
        """Mean and standard deviation of the cosines of ``vector`` with all rows, without computing these.

        For rows x with mean m and covariance C: mean(q.x) = q.m and var(q.x) = q.C.q.
        """
        variance = float(vector @ self._moments[1:] @ vector)
        return float(self._moments[0] @ vector), max(0.0, variance) ** 0.5
