"""The views of a query as one score and one question: the best candidates, and the evidence for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import EncodedQuestion, Evidence, Vector, View
from knowledge.search.signals import BEST_COSINE, FIRST_SCORE, LEXICAL_SHARE, Calibration
from knowledge.search.tokens import ProjectedQuestion

LATE_WEIGHT = np.float32(3)
_PARTS = 2 + LATE_WEIGHT
"""``base`` has two cosines: divided by this a score is a mean cosine, as in ``knowledge.search.late_interaction``."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextScores:
    """One text of the views with its weight, and the scores of the pool for it: a value for each row.

    ``base`` joins the scores before late interaction. ``late`` has values for the best candidates only.
    """

    question: ProjectedQuestion
    weight: float
    dense: NDArray[np.float32]
    window: NDArray[np.float32]
    bm25: NDArray[np.float32]
    base: NDArray[np.float32]
    late: NDArray[np.float32]

    def total(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the joined scores of the best candidates, which are ``places`` of the pool; ``_PARTS`` at most."""
        return np.asarray(self.base[places] + LATE_WEIGHT * self.late, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class ViewWeights:
    """The views of a query with their filters on the pool (``Pool.admitted``), to blend scores by their weights."""

    views: Sequence[View]
    admitted: Sequence[NDArray[np.bool_] | None]

    def readings(self) -> Iterator[ViewWeights]:
        """Yield all views; then, if there are such, those without optional ones, and the respelt one alone."""
        yield self
        kinds = ([not view.optional for view in self.views], [view.respelt for view in self.views])
        for places in ([place for place, kept in enumerate(kind) if kept] for kind in kinds):
            if 0 < len(places) < len(self.views):
                yield ViewWeights([self.views[place] for place in places], [self.admitted[place] for place in places])

    def __call__(
        self, scores: Mapping[str, NDArray[np.float32]], places: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return the blended scores of ``places`` of the pool (None: all); ``scores`` are by the views' texts."""
        total = sum(view.weight for view in self.views)
        blended = np.zeros(len(scores[self.views[0].text]), dtype=np.float32)
        for view, admitted in zip(self.views, self.admitted, strict=True):
            values = scores[view.text]
            if admitted is not None and len(values):  # chunks outside the view's filter get the lowest score
                values = np.where(admitted if places is None else admitted[places], values, values.min())
            blended += np.float32(view.weight / total) * values
        return blended


@dataclass(frozen=True, slots=True, eq=False)
class BlendedQuestion:
    """The texts of a query as one question, each with its share of the weight.

    A blend of cosines is the cosine with the blended ``vector`` times its ``length`` (0..1), by which it is divided: a
    question in a conversation is then measured as one that stands alone.
    """

    texts: Mapping[str, TextScores]
    shares: Mapping[str, np.float32]
    vector: Vector
    length: np.float32

    @classmethod
    def of(cls, texts: Mapping[str, TextScores]) -> Self:
        """Blend ``texts``, at least one, by their weights."""
        total = sum(one.weight for one in texts.values())
        shares = {text: np.float32(one.weight / total) for text, one in texts.items()}
        vector = sum((shares[text] * one.question.asked.vector for text, one in texts.items()), start=np.float32(0))
        return cls(texts, shares, np.asarray(vector), np.float32(np.linalg.norm(vector)))

    def blended(self, values: Callable[[TextScores], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the weighted mean of the ``values`` of the texts."""
        return np.asarray(sum(self.shares[text] * values(one) for text, one in self.texts.items()), dtype=np.float32)

    def parts(self) -> dict[str, NDArray[np.float32]]:
        """Return the parts of the scores of the pool."""
        dense, window = self.blended(lambda one: one.dense), self.blended(lambda one: one.window)
        return {
            "dense": np.clip(dense / self.length, -1, 1),
            "window": np.clip(window / self.length, -1, 1),
            "bm25": self.blended(lambda one: one.bm25),
        }

    def lexical_share(self, place: int, max_score: Callable[[str], float]) -> float:
        """Return the BM25 score at ``place`` of the pool as a share of the highest possible one."""
        found = 0.0
        for text, share in self.shares.items():
            most = max_score(text)
            found += float(share * self.texts[text].bm25[place]) / most if most > 0 else 0.0
        return found

    def question(self, searched: Mapping[str, TextScores]) -> EncodedQuestion:
        """Return the first text, with the pieces of the others, which have no characters in it.

        The pieces of texts in ``searched`` that are none of this question's weigh nothing.
        """
        first = next(iter(self.texts.values())).question.asked
        asked = {text: one.question.asked for text, one in searched.items()}
        weights = [self.shares.get(text, np.float32(0)) * one.weights for text, one in asked.items()]
        return EncodedQuestion(
            text=first.text,
            vector=self.vector / self.length,
            spans=np.vstack([one.spans if one is first else np.zeros_like(one.spans) for one in asked.values()]),
            weights=np.concatenate(weights),
            unknown=first.unknown,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranking:
    """The best candidates, first to last: ``chosen`` of the places, and their ``scores`` and ``parts``."""

    chosen: NDArray[np.int64]
    scores: NDArray[np.float32]
    parts: Mapping[str, NDArray[np.float32]]
    evidence: Evidence | None


def rank(
    texts: Mapping[str, TextScores],
    places: NDArray[np.int64],
    blend: ViewWeights,
    *,
    k: int,
    calibration: Calibration | None,
    max_score: Callable[[str], float],
) -> Ranking:
    """Return the ``k`` best candidates by the views of ``blend``; ``max_score``: see ``WordStatistics``.

    The candidates are ``places`` of the pool.
    """
    blended = blend({text: one.total(places) for text, one in texts.items()}, places)
    chosen = np.lexsort((places, -blended))[:k]
    viewed = {view.text for view in blend.views}
    whole = BlendedQuestion.of({text: one for text, one in texts.items() if text in viewed})
    late, parts = whole.blended(lambda one: one.late), whole.parts()
    evidence = None
    if len(chosen):
        best = int(chosen[0])
        total = whole.blended(lambda one: one.total(places))
        signals = {
            BEST_COSINE: float(parts["dense"].max()),
            FIRST_SCORE: float(total[best] / whole.length / _PARTS),
            LEXICAL_SHARE: whole.lexical_share(int(places[best]), max_score),
        }
        asked, score = whole.question(texts), calibration.score(signals) if calibration else signals[BEST_COSINE]
        evidence = Evidence(asked=asked, signals=signals, score=score, bar=None)
        if calibration:
            evidence = replace(evidence, bar=calibration.bar, doubt=calibration.doubt, odds=calibration.odds)
    return Ranking(
        chosen=chosen,
        scores=blended[chosen] / _PARTS,
        parts={**{name: part[places[chosen]] for name, part in parts.items()}, "late": late[chosen]},
        evidence=evidence,
    )
