"""The views of a query as one score and one question: the best candidates, and the evidence for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from knowledge.model.values import EncodedQuestion, Evidence, View
from knowledge.search.signals import BEST_COSINE, Calibration, collect_signals
from knowledge.search.tokens import ProjectedQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Vector


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """One text of the views: as codes are compared with it, and its weight."""

    question: ProjectedQuestion
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class TextScores:
    """The scores of the pool for one text, before late interaction: a value for each row."""

    dense: NDArray[np.float32]
    window: NDArray[np.float32]
    bm25: NDArray[np.float32]
    base: NDArray[np.float32]


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

    A blend of cosines is the cosine with the blended vector times that vector's length, by which it is divided: a
    question in a conversation is then measured as one that stands alone.
    """

    asked: Mapping[str, EncodedText]
    scores: Mapping[str, TextScores]
    shares: Mapping[str, np.float32]
    vector: Vector
    length: np.float32

    @classmethod
    def of(cls, asked: Mapping[str, EncodedText], scores: Mapping[str, TextScores]) -> Self:
        """``shares`` are the weights in sum 1, ``vector`` the blended one, of ``length`` 0..1."""
        total = sum(one.weight for one in asked.values())
        shares = {text: np.float32(one.weight / total) for text, one in asked.items()}
        vector = sum((shares[text] * one.question.asked.vector for text, one in asked.items()), start=np.float32(0))
        return cls(asked, scores, shares, np.asarray(vector), np.float32(np.linalg.norm(vector)))

    def blended(self, values: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the weighted mean of ``values`` by text."""
        return np.asarray(sum(share * values[text] for text, share in self.shares.items()), dtype=np.float32)

    def parts(self) -> dict[str, NDArray[np.float32]]:
        """Return the parts of the scores of the pool."""
        dense = self.blended({text: one.dense for text, one in self.scores.items()}) / self.length
        window = self.blended({text: one.window for text, one in self.scores.items()}) / self.length
        bm25 = self.blended({text: one.bm25 for text, one in self.scores.items()})
        return {"dense": np.clip(dense, -1, 1), "window": np.clip(window, -1, 1), "bm25": bm25}

    def lexical_share(self, place: int, max_score: Callable[[str], float]) -> float:
        """Return the BM25 score at ``place`` of the pool as a share of the highest possible one."""
        found = 0.0
        for text, share in self.shares.items():
            most = max_score(text)
            found += float(share * self.scores[text].bm25[place]) / most if most > 0 else 0.0
        return found

    def question(self, texts: Mapping[str, EncodedText]) -> EncodedQuestion:
        """Return the first text, with the pieces of the others, which have no characters in it.

        ``texts`` are all that were asked with; the pieces of those that are none of this question's weigh nothing.
        """
        first = next(iter(self.asked.values())).question.asked
        all_asked = {text: one.question.asked for text, one in texts.items()}
        weights = [self.shares.get(text, np.float32(0)) * one.weights for text, one in all_asked.items()]
        return EncodedQuestion(
            text=first.text,
            vector=self.vector / self.length,
            spans=np.vstack([one.spans if one is first else np.zeros_like(one.spans) for one in all_asked.values()]),
            weights=np.concatenate(weights),
            unknown=first.unknown,
        )


LATE_WEIGHT = np.float32(3)
_PARTS = 2 + LATE_WEIGHT
"""``base`` has two cosines: with it a score is a mean cosine (``knowledge.search.late_interaction`` has the
formula)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeepCandidates:
    """The candidates scored by late interaction, by their ``places`` in the pool.

    ``scores`` are of the whole pool, ``late`` of ``places``, by the texts of ``asked``.
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


def rank(
    deep: DeepCandidates,
    blend: ViewWeights,
    k: int,
    calibration: Calibration | None,
    max_score: Callable[[str], float],
) -> Ranking:
    """Return the ``k`` best of ``deep`` by the views of ``blend``; ``max_score``: see ``WordStatistics``."""
    total = {text: one.base[deep.places] + LATE_WEIGHT * deep.late[text] for text, one in deep.scores.items()}
    blended = blend(total, deep.places)
    chosen = np.lexsort((deep.places, -blended))[:k]
    texts = {view.text for view in blend.views}
    whole = BlendedQuestion.of({text: one for text, one in deep.asked.items() if text in texts}, deep.scores)
    late, parts = whole.blended(deep.late), whole.parts()
    evidence = None
    if len(chosen):
        best = int(chosen[0])
        signals = collect_signals(
            dense=parts["dense"],
            window=parts["window"],
            late=float(late[best]),
            score=float(whole.blended(total)[best] / whole.length / _PARTS),
            lexical_share=whole.lexical_share(int(deep.places[best]), max_score),
        )
        evidence = _evidence(whole, deep.asked, signals, calibration)
    return Ranking(
        chosen=chosen,
        scores=blended[chosen] / _PARTS,
        parts={**{name: part[deep.places[chosen]] for name, part in parts.items()}, "late": late[chosen]},
        evidence=evidence,
    )


def _evidence(
    whole: BlendedQuestion, asked: Mapping[str, EncodedText], signals: Mapping[str, float], known: Calibration | None
) -> Evidence:
    question = whole.question(asked)
    if known is None:
        return Evidence(asked=question, signals=signals, score=signals[BEST_COSINE], bar=None)
    score = known.score(signals)
    return Evidence(asked=question, signals=signals, score=score, bar=known.bar, doubt=known.doubt, odds=known.odds)
