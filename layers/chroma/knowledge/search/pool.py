"""The chunks that a search compares, and the port that finds them.

An embedded index has arrays of all chunks (``LocalPassageSource``); an index on Chroma's server loads the arrays of the
chunks found (``knowledge.engines.server``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import Matrix, Vector, View, Where
from knowledge.search.candidates import CANDIDATES_PER_SIDE, HybridIndex, Signal
from knowledge.search.tokens import CodeStore, WindowStore


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
    """Where a search finds chunks. Safe to ask from several threads."""

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """Return the chunks that any of ``views`` finds within ``where``; ``asked`` has the unit vector of each text.

        Raises:
            SearchFailed: the filter is malformed, or the query failed.
        """
        ...

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        """Return the stored tokens of the chunks with these numbers, in their order.

        Raises:
            SearchFailed: there is no such chunk, or the query failed.
        """
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
