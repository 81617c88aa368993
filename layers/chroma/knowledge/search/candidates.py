"""Candidates for an answer: the nearest chunks and the best by BM25, and the pool that all signals compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from knowledge.model.errors import IndexDamaged, SearchFailed
from knowledge.model.values import Matrix, Vector, VectorEngine, View, Where
from knowledge.search.columns import Columns
from knowledge.search.lexical import Lexical
from knowledge.search.tokens import CodeStore, WindowStore
from knowledge.search.vectors import VectorStore

CANDIDATES_PER_SIDE = 50

FLAT_ROWS = 10_000
"""Rows over which the matrix is as fast as the graph: 2 ms."""

LEAST_STD = 1e-3
"""A smaller deviation is that of rounding: the collection's chunks are alike, or one in millions has the words."""


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """One kind of score: of each candidate, shape (n,), with its mean and deviation over the whole collection."""

    values: NDArray[np.float32]
    mean: float
    std: float

    @classmethod
    def of(cls, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> Self:
        """Select ``rows`` of the ``scores`` of the whole collection."""
        return cls(scores[rows], float(scores.mean(dtype=np.float64)), float(scores.std(dtype=np.float64)))

    @property
    def z(self) -> NDArray[np.float32]:
        """Standard scores: deviations above the collection's mean; 0 for all when no chunk differs from another."""
        if self.std < LEAST_STD:
            return np.zeros_like(self.values)
        return np.asarray((self.values - self.mean) / self.std, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The result of a dense and a BM25 search, by chunk number.

    ``dense`` are plain cosines (-1..1), ``bm25`` scores are >= 0; ``vectors`` are the chunks' own, one a row.
    """

    numbers: NDArray[np.int64]
    dense: Signal
    bm25: Signal
    vectors: Matrix


def chunk_number(chunk_id: str) -> int:
    """Return the chunk number of an id in one of our own collections."""
    return int(chunk_id.removeprefix("id_"))


class HybridIndex:
    """The vectors and the BM25 of an index, with the same chunks in the same rows. Safe in several threads."""

    def __init__(
        self,
        lexical: Lexical,
        vectors: VectorStore,
        numbers: NDArray[np.int64],
        engine: VectorEngine,
        *,
        number_of: Callable[[str], int] = chunk_number,
        columns: Columns | None = None,
    ) -> None:
        """Check that the parts have the same chunks; IndexDamaged: the BM25 side has others.

        ``numbers`` are the texts' chunk numbers, ascending; ``number_of`` maps one of Chroma's ids to a chunk number;
        ``columns`` answer filters in Chroma's place.
        """
        if not np.array_equal(lexical.numbers, numbers):
            raise IndexDamaged("The BM25 side of the index has other chunks than its texts. Run: ragctl ingest PATH")
        self.lexical = lexical
        self.vectors = vectors
        self.numbers = numbers
        self._engine = engine
        self._columns = columns
        self._number_of = number_of

    def candidates(self, text: str, vector: Vector, *, k: int, where: Where | None) -> Candidates:
        """See ``ChromaIndex.candidates``."""
        if vector.shape != (self.vectors.dimensions,) or not np.isfinite(vector).all():
            raise SearchFailed("The question's vector is not one that this index can be searched with")
        bm25 = self.lexical.scores(text)
        rows = self.pool(vector, bm25, self.allowed(where), k=k)
        vectors = self.vectors.rows(rows)
        return Candidates(
            numbers=self.numbers[rows],
            dense=Signal(np.clip(vectors @ vector, -1, 1), *self.vectors.moments.statistics(vector)),
            bm25=Signal.of(rows, bm25),
            vectors=vectors,
        )

    def allowed(self, where: Where | None, *, within: NDArray[np.int64] | None = None) -> NDArray[np.int64] | None:
        """Return the rows of ``within``, ascending, that ``where`` admits; None stands for all."""
        if not where:
            return within
        rows = self._columns.rows(where) if self._columns else None
        rows = self._rows(self._engine.ids(where)) if rows is None else rows
        return rows if within is None else np.intersect1d(rows, within, assume_unique=True)

    def pool(
        self, vector: Vector, bm25: NDArray[np.float32], allowed: NDArray[np.int64] | None, *, k: int
    ) -> NDArray[np.int64]:
        """Return, ascending, the ``k`` rows nearest to ``vector`` and the ``k`` best by ``bm25`` among ``allowed``.

        A filter loses nothing: its rows are searched in the matrix, which is exact, and faster than a filtered walk
        through the graph; few rows are all in the pool. If it admits most of a large index, Chroma finds enough of its
        rows.
        """
        if allowed is None:
            nearest = self._rows(self._engine.nearest(vector, k=k))
            matching = np.flatnonzero(bm25)
        elif len(allowed) <= 2 * k:
            return allowed
        else:
            nearest = self._nearest_of(vector, allowed, k)
            matching = allowed[bm25[allowed] > 0]
        return np.union1d(nearest, best_rows(bm25[matching], matching, k))

    def _nearest_of(self, vector: Vector, allowed: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        if len(allowed) > max(FLAT_ROWS, len(self.numbers) // 4):
            more = math.ceil(1.5 * k * len(self.numbers) / len(allowed))
            nearest = self._rows(self._engine.nearest(vector, k=more))
            nearest = nearest[np.isin(nearest, allowed, assume_unique=True)]
            if len(nearest) >= k:
                return nearest
        return best_rows(self.vectors.cosines(allowed, vector), allowed, k)

    def _rows(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows, ascending, of Chroma's ``ids``."""
        numbers = np.sort(np.array([self._number_of(chunk_id) for chunk_id in ids], dtype=np.int64))
        rows = np.searchsorted(self.numbers, numbers)
        if rows.size and (rows[-1] >= len(self.numbers) or not np.array_equal(self.numbers[rows], numbers)):
            raise SearchFailed("Chroma found a chunk that the index's texts do not have")
        return rows


def best_rows(scores: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the ``k`` of ``rows`` (ascending) with the highest ``scores``, ascending; of equals the lowest rows."""
    if len(rows) <= k:
        return rows
    cut = np.partition(scores, -k)[-k]
    above, equal = rows[scores > cut], rows[scores == cut]
    return np.sort(np.concatenate([above, equal[: k - len(above)]]))


@dataclass(frozen=True, slots=True, eq=False)
class StoredTokens:
    """The stored tokens of some chunks: ``rows`` of ``codes`` and ``windows``, shape (n,)."""

    codes: CodeStore
    windows: WindowStore
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """The n chunks that are compared, by their ``numbers``, ascending.

    ``vectors`` are theirs, one a row. ``bm25`` gives, by text, their scores with mean and deviation over the whole
    index. ``admitted`` says of each view which of them are within its filter, shape (n,); None: all.
    """

    numbers: NDArray[np.int64]
    vectors: Matrix
    tokens: StoredTokens
    bm25: Mapping[str, Signal]
    admitted: Sequence[NDArray[np.bool_] | None]


class PassageSource(Protocol):
    """The chunks of an open index. Safe to ask from several threads.

    An embedded index has arrays of all chunks (``LocalPassageSource``); an index on Chroma's server loads the arrays of
    the chunks found (``knowledge.engines.server``).
    """

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """Return the chunks that any of ``views`` finds within ``where``; ``asked`` has the unit vector of each text.

        SearchFailed: the filter is malformed, or the query failed.
        """
        ...

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        """Return the stored tokens of these chunks, in their order; SearchFailed: one does not exist, or no answer."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LocalPassageSource:
    """A ``PassageSource`` of arrays on disk."""

    sides: HybridIndex
    codes: CodeStore
    windows: WindowStore

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """See ``PassageSource``."""
        sides = self.sides
        allowed = sides.allowed(where)
        admitted = [sides.allowed(view.where, within=allowed) for view in views]
        scores = {text: sides.lexical.scores(text) for text in asked}
        found = [
            sides.pool(asked[view.text], scores[view.text], rows, k=CANDIDATES_PER_SIDE)
            for view, rows in zip(views, admitted, strict=True)
        ]
        rows = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
        return Pool(
            numbers=sides.numbers[rows],
            vectors=sides.vectors.rows(rows),
            tokens=StoredTokens(self.codes, self.windows, rows),
            bm25={text: Signal.of(rows, all_scores) for text, all_scores in scores.items()},
            admitted=[None if one is None else np.isin(rows, one, assume_unique=True) for one in admitted],
        )

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        """See ``PassageSource``."""
        return StoredTokens(self.codes, self.windows, np.searchsorted(self.sides.numbers, numbers))
