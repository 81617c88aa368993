"""Candidates for an answer: the nearest chunks and those with the question's words, each with both scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.errors import IndexDamaged, SearchFailed
from knowledge.open.collection import Collection
from knowledge.open.manifest import Manifest
from knowledge.search.lexical import LEXICAL_FOLDER, LEXICAL_RECIPE, Lexical
from knowledge.search.vectors import VectorStore
from knowledge.types import Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.types import Matrix, Vector

CANDIDATES_PER_SIDE = 50

LEAST_STD = 1e-3
"""A smaller deviation is that of rounding: the collection's chunks are alike, or one in millions has the words."""


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """One kind of score: that of each candidate, shape (n,), and its mean and deviation over the whole collection."""

    values: NDArray[np.float32]
    mean: float
    std: float

    @property
    def z(self) -> NDArray[np.float32]:
        """Standard scores: deviations above the collection's mean; 0 for all when no chunk differs from another."""
        if self.std < LEAST_STD:
            return np.zeros_like(self.values)
        return np.asarray((self.values - self.mean) / self.std, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """What a search of both kinds found, by chunk number.

    ``dense`` are plain cosines (-1..1), ``bm25`` scores are >= 0; ``vectors`` are the chunks' own, one a row.
    """

    numbers: NDArray[np.int64]
    dense: Signal
    bm25: Signal
    vectors: Matrix

    def __len__(self) -> int:
        return len(self.numbers)


def number_in(chunk_id: str) -> int:
    """The number of the chunk whose id in one of our own collections is ``chunk_id``."""
    return int(chunk_id.removeprefix("id_"))


class Sides:
    """The dense and the lexical side of an index, with the same chunks in the same rows. Safe in several threads."""

    def __init__(
        self,
        lexical: Lexical,
        vectors: VectorStore,
        numbers: NDArray[np.int64],
        number_of: Callable[[str], int] = number_in,
    ) -> None:
        """``numbers`` are those of the texts, ascending; ``number_of`` gives that of one of Chroma's ids.

        Raises:
            IndexDamaged: the BM25 side has other chunks.
        """
        if not np.array_equal(lexical.numbers, numbers):
            raise IndexDamaged("The BM25 side of the index has other chunks than its texts. Run: ragctl ingest PATH")
        self.lexical = lexical
        self._vectors = vectors
        self._numbers = numbers
        self._number_of = number_of

    @classmethod
    def open(cls, data: Path, manifest: Manifest, numbers: NDArray[np.int64]) -> Self | None:
        """The sides in the folder ``data``; None for an index from before there was BM25, or with another recipe.

        Raises:
            IndexDamaged: a file cannot be used, or they do not fit each other.
        """
        if manifest.lexical is None or manifest.lexical.get("recipe") != LEXICAL_RECIPE:
            return None
        vectors = VectorStore(data, rows=len(numbers), dimensions=manifest.dimensions)
        return cls(Lexical(data / LEXICAL_FOLDER, manifest.lexical), vectors, numbers)

    def candidates(
        self, collection: Collection, text: str, vector: Vector, *, k: int, where: Where | None
    ) -> Candidates:
        """See ``Index.candidates``."""
        if vector.shape != (self._vectors.dimensions,) or not np.isfinite(vector).all():
            raise SearchFailed("The question's vector is not one that this index can be searched with")
        bm25 = self.lexical.scores(text)
        if where:
            # Chroma decides what matches; over few rows the matrix is exact, and faster than a filtered walk.
            allowed = self._rows(collection.ids(where))
            nearest = best_rows(self._vectors.cosines(allowed, vector), allowed, k)
        else:
            allowed = np.arange(len(bm25))
            nearest = self._rows(collection.nearest(vector, k=k))
        matching = allowed[bm25[allowed] > 0]
        rows = np.union1d(nearest, best_rows(bm25[matching], matching, k))
        vectors = self._vectors.rows(rows)
        return Candidates(
            numbers=self._numbers[rows],
            dense=Signal(np.clip(vectors @ vector, -1, 1), *self._vectors.statistics(vector)),
            bm25=Signal(bm25[rows], float(bm25.mean(dtype=np.float64)), float(bm25.std(dtype=np.float64))),
            vectors=vectors,
        )

    def _rows(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """The rows, ascending, of Chroma's ``ids``."""
        numbers = np.sort(np.array([self._number_of(chunk_id) for chunk_id in ids], dtype=np.int64))
        rows = np.searchsorted(self._numbers, numbers)
        if rows.size and (rows[-1] >= len(self._numbers) or not np.array_equal(self._numbers[rows], numbers)):
            raise SearchFailed("Chroma found a chunk that the index's texts do not have")
        return rows


def best_rows(scores: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Those ``k`` of ``rows`` (ascending) with the highest ``scores``, ascending; of equals the lowest rows."""
    if len(rows) <= k:
        return rows
    cut = np.partition(scores, -k)[-k]
    above, equal = rows[scores > cut], rows[scores == cut]
    return np.sort(np.concatenate([above, equal[: k - len(above)]]))
