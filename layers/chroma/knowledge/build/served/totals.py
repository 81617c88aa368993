"""Sums over all chunks of an index, kept up to date as chunks come and go: nothing needs all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.model.errors import IndexDamaged
from knowledge.search.arrays import save_array
from knowledge.search.codes import IDF_NAME, idf_of
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.vectors import rounded, save_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.engines.server.records import StoredChunk

TOTALS_NAME = "totals.npz"


@dataclass(eq=False)
class Totals:
    """``numbers`` of the chunks; the sum of their vectors, and of these times themselves; how many hold each piece."""

    numbers: set[int]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    pieces: NDArray[np.int64]

    @classmethod
    def none(cls, dimensions: int, vocabulary: int) -> Self:
        """Of no chunk."""
        square = np.zeros((dimensions, dimensions))
        return cls(set(), np.zeros(dimensions), square, np.zeros(vocabulary, dtype=np.int64))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote to ``folder``; IndexDamaged where it cannot be read."""
        try:
            with np.load(folder / TOTALS_NAME, allow_pickle=False) as held:
                return cls(set(held["numbers"].tolist()), held["first"], held["second"], held["pieces"])
        except (OSError, ValueError, KeyError) as exc:
            raise IndexDamaged(f"{TOTALS_NAME} cannot be read: {exc}. Run: ragctl ingest PATH") from exc

    def save(self, folder: Path) -> None:
        """Write them to ``folder``."""
        np.savez(folder / TOTALS_NAME, numbers=self.ascending, first=self.first, second=self.second, pieces=self.pieces)

    @property
    def ascending(self) -> NDArray[np.int64]:
        """The numbers in their order."""
        return np.array(sorted(self.numbers), dtype=np.int64)

    def add(self, chunks: Sequence[StoredChunk]) -> None:
        """Count ``chunks``, those of numbers that are counted already not again."""
        self._count([one for one in chunks if one.chunk.number not in self.numbers], 1)
        self.numbers.update(one.chunk.number for one in chunks)

    def remove(self, chunks: Sequence[StoredChunk]) -> None:
        """Count ``chunks`` no more, those that are counted."""
        self._count([one for one in chunks if one.chunk.number in self.numbers], -1)
        self.numbers.difference_update(one.chunk.number for one in chunks)

    def write_facts(self, folder: Path) -> None:
        """Write the moments of the vectors and the idf of the pieces as an index's ``folder`` has them."""
        count = max(1, len(self.numbers))
        mean = self.first / count
        save_moments(folder, mean, self.second / count - np.outer(mean, mean))
        save_array(folder / TOKENS_FOLDER / IDF_NAME, idf_of(self.pieces, len(self.numbers)))

    def _count(self, chunks: Sequence[StoredChunk], sign: int) -> None:
        if not chunks:
            return
        vectors = rounded(np.stack([one.vector for one in chunks])).astype(np.float64)
        self.first += sign * vectors.sum(axis=0)
        self.second += sign * (vectors.T @ vectors)
        for one in chunks:
            if one.tokens is not None:
                self.pieces[one.tokens.pieces] += sign
