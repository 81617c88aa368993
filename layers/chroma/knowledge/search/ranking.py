"""A question read by some of its views: which candidates are best, and what that says of the question as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.values import Evidence
from knowledge.search.signals import BEST_COSINE, Calibration, measure
from knowledge.search.views import Blend, EncodedText, TextScores, Whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

LATE_WEIGHT = np.float32(3)
_PARTS = 2 + LATE_WEIGHT
"""``base`` has two cosines: with it a score is a mean cosine (``knowledge.search.late_interaction`` has the
formula)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeepCandidates:
    """The candidates that late interaction saw: their ``places`` in the pool.

    ``scores`` are those of the whole pool, ``late`` those of ``places``, by the texts that were ``asked``.
    """

    places: NDArray[np.int64]
    asked: Mapping[str, EncodedText]
    scores: Mapping[str, TextScores]
    late: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranking:
    """The best candidates, first to last: ``chosen`` of the places, and their ``scores`` and ``parts``."""

    chosen: NDArray[np.int64]
    scores: NDArray[np.float32]
    parts: Mapping[str, NDArray[np.float32]]
    evidence: Evidence | None

    @property
    def known(self) -> float:
        """How much the index knows of the question; minus infinity where nothing was found."""
        return self.evidence.score if self.evidence else -np.inf


def rank(
    deep: DeepCandidates, blend: Blend, k: int, calibration: Calibration | None, attainable: Callable[[str], float]
) -> Ranking:
    """The ``k`` best of ``deep`` by the views of ``blend``; ``attainable`` is that of ``knowledge.search.lexical``."""
    total = {text: one.base[deep.places] + LATE_WEIGHT * deep.late[text] for text, one in deep.scores.items()}
    blended = blend(total, deep.places)
    chosen = np.lexsort((deep.places, -blended))[:k]
    texts = {view.text for view in blend.views}
    whole = Whole.of({text: one for text, one in deep.asked.items() if text in texts}, deep.scores)
    late, parts = whole.blended(deep.late), whole.parts()
    evidence = None
    if len(chosen):
        best = int(chosen[0])
        signals = measure(
            dense=parts["dense"],
            window=parts["window"],
            late=float(late[best]),
            score=float(whole.blended(total)[best] / whole.length / _PARTS),
            lexical_share=whole.share(int(deep.places[best]), attainable),
        )
        evidence = _evidence(whole, deep.asked, signals, calibration)
    return Ranking(
        chosen=chosen,
        scores=blended[chosen] / _PARTS,
        parts={**{name: part[deep.places[chosen]] for name, part in parts.items()}, "late": late[chosen]},
        evidence=evidence,
    )


def _evidence(
    whole: Whole, asked: Mapping[str, EncodedText], signals: Mapping[str, float], known: Calibration | None
) -> Evidence:
    question = whole.question(asked)
    if known is None:
        return Evidence(asked=question, signals=signals, score=signals[BEST_COSINE], bar=None)
    score = known.score(signals)
    return Evidence(asked=question, signals=signals, score=score, bar=known.bar, doubt=known.doubt, odds=known.odds)
