"""The chunks that a look compares, of an index whose arrays are all here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge.search.candidates import Sides, Signal
from knowledge.search.pool import Pool, StoredTokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.engine import VectorEngine
    from knowledge.model.values import Vector, View, Where
    from knowledge.search.codes import CodeStore
    from knowledge.search.windows import WindowStore

POOL = 50
"""Candidates of each side."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalPassages:
    """A ``PassageSource``: both sides of an index, the stores of its tokens, and the engine that finds what is near."""

    sides: Sides
    codes: CodeStore
    windows: WindowStore
    engine: VectorEngine

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """See ``PassageSource``."""
        sides, engine = self.sides, self.engine
        allowed = sides.allowed(engine, where)
        admitted = [sides.allowed(engine, view.where, within=allowed) for view in views]
        scores = {text: sides.lexical.scores(text) for text in asked}
        found = [
            sides.pool(engine, asked[view.text], scores[view.text], rows, k=POOL)
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
        rows: NDArray[np.int64] = np.searchsorted(self.sides.numbers, numbers)
        return StoredTokens(self.codes, self.windows, rows)
