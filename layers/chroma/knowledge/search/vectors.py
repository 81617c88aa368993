"""The unit vectors of an index in one matrix, beside Chroma's: cosines of given chunks, and their mean over all.

Files: ``vectors.npy``, int8 of shape (chunks, dimensions), rows in the order of the text store; ``vector_scales.npy``,
float32 of shape (chunks,), the factor of each row; ``moments.npy``, float32 of shape (1 + dimensions,
dimensions): the mean vector, then the covariance matrix. A byte a dimension costs a cosine less than .002.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import Matrix, Vector
from knowledge.search.arrays import load_array, save_array

VECTORS_NAME = "vectors.npy"
SCALES_NAME = "vector_scales.npy"
MOMENTS_NAME = "moments.npy"

STEPS = 127
"""On either side of 0, of the largest number of a vector."""
BLOCK_ROWS = 1024
"""Rows converted to full precision at a time: they fit into a processor's cache."""


def write_vectors(folder: Path, vectors: Matrix) -> None:
    """Write the unit ``vectors``, at least one, as a store in ``folder``; those that are read from it are the same."""
    steps, scales = quantise(vectors)
    save_array(folder / VECTORS_NAME, steps)
    save_array(folder / SCALES_NAME, scales)
    vectors = steps * scales[:, np.newaxis]
    mean = vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((len(mean), len(mean)))
    for start in range(0, len(vectors), BLOCK_ROWS):
        centred = vectors[start : start + BLOCK_ROWS] - mean
        covariance += centred.T @ centred
    save_moments(folder, mean, covariance / len(vectors))


def round_vectors(vectors: Matrix) -> Matrix:
    """Round the unit ``vectors`` as a store does, float32."""
    steps, scales = quantise(vectors)
    return np.asarray(steps * scales[:, np.newaxis], dtype=np.float32)


def quantise(vectors: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return ``vectors`` in whole steps, -127 to 127, and the length of a step in each row, shape (rows,)."""
    scales = (np.abs(vectors).max(axis=1) / STEPS).astype(np.float32)
    return np.rint(vectors / scales[:, np.newaxis]).astype(np.int8), scales


def save_moments(folder: Path, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> None:
    """Write the moments of all vectors to ``folder``."""
    save_array(folder / MOMENTS_NAME, np.vstack([mean, covariance]).astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The ``mean`` of all vectors, shape (dimensions,), and their ``covariance``, shape (dimensions, dimensions)."""

    mean: Vector
    covariance: NDArray[np.float32]

    @classmethod
    def load(cls, folder: Path, dimensions: int) -> Self:
        """Load the moments from ``folder``; IndexDamaged: they cannot be read."""
        stored = load_array(folder / MOMENTS_NAME, dtype=np.float32, shape=(1 + dimensions, dimensions))
        return cls(stored[0], stored[1:])

    def statistics(self, vector: Vector) -> tuple[float, float]:
        """Return mean and standard deviation of the cosines of ``vector`` with all rows, without computing these.

        For rows x with mean m and covariance C: mean(q.x) = q.m and var(q.x) = q.C.q.
        """
        variance = float(vector @ self.covariance @ vector)
        return float(self.mean @ vector), max(0.0, variance) ** 0.5


class VectorStore:
    """Reads a store. Safe to use from several threads."""

    def __init__(self, folder: Path, *, rows: int, dimensions: int) -> None:
        """Map the store in ``folder``; IndexDamaged: it cannot be used."""
        self.dimensions = dimensions
        self._vectors = load_array(folder / VECTORS_NAME, dtype=np.int8, shape=(rows, dimensions))
        self._scales = load_array(folder / SCALES_NAME, dtype=np.float32, shape=(rows,))
        self.moments = Moments.load(folder, dimensions)

    def rows(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the vectors of ``rows``, float32, shape (len(rows), dimensions), of about unit length."""
        return np.asarray(self._vectors[rows] * self._scales[rows, np.newaxis], dtype=np.float32)

    def cosines(self, rows: NDArray[np.int64], vector: Vector) -> NDArray[np.float32]:
        """Return the cosine of the unit vector ``vector`` with each of ``rows``, -1..1."""
        cosines = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            cosines[block] = self._vectors[rows[block]].astype(np.float32) @ vector
        cosines *= self._scales[rows]
        return np.clip(cosines, -1, 1, out=cosines)
