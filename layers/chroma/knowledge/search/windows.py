"""Windows: a chunk's token vectors in runs of about 40, each averaged to a unit vector of its own.

A chunk about several things has a vector near none of them; one of its windows is near what is asked. Stored in half a
byte a dimension: a cosine is off by .01 or less, most often.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.search.arrays import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector

WINDOWS_NAME = "windows"
SCALES_NAME = "window_scales"

WINDOW_TOKENS = 40
STEPS = 7
"""On either side of 0, of the largest number of a window: half a byte."""


def window_vectors(tokens: NDArray[np.float32], length: int = WINDOW_TOKENS) -> Matrix:
    """The unit vectors of windows of about ``length`` of ``tokens``, shape (tokens >= 1, dimensions)."""
    count = max(1, round(len(tokens) / length))
    starts = np.arange(count) * len(tokens) // count
    sums = np.add.reduceat(tokens, starts, axis=0)
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)


def pack(vectors: Matrix) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """``vectors``, of an even number of dimensions, in half a byte each, and what each row is multiplied with after.

    The first half of the dimensions is in the upper four bits, with 8 added.
    """
    scales = np.abs(vectors).max(axis=1) / STEPS
    steps = (np.rint(vectors / scales[:, np.newaxis]) + 8).astype(np.uint8)
    half = vectors.shape[1] // 2
    return (steps[:, :half] << 4 | steps[:, half:]).astype(np.uint8), scales.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class WindowStore:
    """The windows of chunks, by row: packed ``vectors`` and their ``scales``. Safe to use from several threads."""

    vectors: Ragged
    scales: Ragged

    @classmethod
    def open(cls, folder: Path, *, rows: int, dimensions: int) -> Self:
        """Map the store in ``folder``.

        Raises:
            IndexDamaged: a file is missing, unreadable or of another shape.
        """
        return cls(
            vectors=Ragged.open(folder, WINDOWS_NAME, rows=rows, dtype=np.uint8, width=(dimensions // 2,)),
            scales=Ragged.open(folder, SCALES_NAME, rows=rows, dtype=np.float32),
        )

    def best(self, rows: NDArray[np.int64], vector: Vector) -> NDArray[np.float32]:
        """The highest cosine of the unit vector ``vector`` with a window of each of ``rows``, shape (len(rows),)."""
        if not len(rows):
            return np.empty(0, dtype=np.float32)
        values, starts = self.vectors.gather(rows)
        scales, _ = self.scales.gather(rows)
        half = len(vector) // 2
        steps = (values >> 4).astype(np.float32) @ vector[:half] + (values & 15).astype(np.float32) @ vector[half:]
        cosines = (steps - 8 * vector.sum()) * scales
        return np.clip(np.maximum.reduceat(cosines, starts), -1, 1)
