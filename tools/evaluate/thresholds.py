"""A bar from labelled questions: split-conformal, with its bound, and what it refuses and lets through. Pure.

Scores are the joined evidence of ``knowledge.search.signals``; a question below the bar is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluate.goals import Goal

ALPHA = 0.05
"""Share of questions like the labelled ones that a conformal bar may judge wrongly."""
LEAST = math.ceil(1 / ALPHA) - 1
"""So many labelled questions it takes before any bar can promise ``ALPHA``."""
CONFIDENCE = 0.95
MOST_PASSED, MOST_BACKGROUND = 0.5, 0.2
"""Where more of the unanswerable questions, or of the background's, pass a bar, it is no good one."""

type Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of the labelled questions that the index answers, of those that it does not, and of the background's."""

    answerable: Floats
    unanswerable: Floats
    background: Floats


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares (0..1): of the answerable that are ``refused``, of the others that pass; None where there are none."""

    refused: float | None
    passed: float | None
    background: float

    @property
    def loss(self) -> float:
        """Refused, and passed (the mean of both kinds), counted alike."""
        passed = [self.background] if self.passed is None else [self.passed, self.background]
        return (self.refused or 0.0) + sum(passed) / len(passed)

    @property
    def good(self) -> bool:
        """Whether a bar with these errors keeps out most of what the index cannot answer."""
        return (self.passed or 0.0) <= MOST_PASSED and self.background <= MOST_BACKGROUND


@dataclass(frozen=True, slots=True)
class Bound:
    """Of ``count`` labelled questions the bar is the ``place``-th (Vovk et al. 2005, split-conformal prediction).

    ``mean``: the chance that a further question like them is judged wrongly, at most, over samples of this size.
    ``surely``: the share that with 95 % confidence is not exceeded, a quantile of Beta(place, count + 1 - place).
    """

    place: int
    count: int

    @property
    def mean(self) -> float:
        """See the class."""
        return self.place / (self.count + 1)

    @property
    def surely(self) -> float:
        """See the class."""
        from scipy.special import betaincinv

        return float(betaincinv(self.place, self.count + 1 - self.place, CONFIDENCE))


def bound(count: int) -> Bound:
    """The bound of a bar from ``count`` questions, ``LEAST`` or more."""
    return Bound(max(1, math.floor(ALPHA * (count + 1))), count)


def bar(goal: Goal, scores: Scores) -> float:
    """The bar for ``goal``; each kind of question that it rests on must be there."""
    answerable, unanswerable = np.sort(scores.answerable), np.sort(scores.unanswerable)
    if goal is Goal.FALSE_REFUSALS:
        return float(answerable[bound(len(answerable)).place - 1])
    if goal is Goal.FALSE_ANSWERS:
        return float(np.nextafter(unanswerable[-bound(len(unanswerable)).place], np.inf))
    places = np.unique(np.concatenate([answerable, np.nextafter(unanswerable, np.inf)]))
    passed = [_above(kind, places) for kind in (unanswerable, np.sort(scores.background)) if len(kind)]
    return float(places[np.argmin(1 - _above(answerable, places) + np.mean(passed, axis=0))])


def errors(at: float, scores: Scores) -> Errors:
    """What the bar ``at`` does with questions that it was not fitted to."""
    refused = float(np.mean(scores.answerable < at)) if len(scores.answerable) else None
    passed = float(np.mean(scores.unanswerable >= at)) if len(scores.unanswerable) else None
    return Errors(refused, passed, float(np.mean(scores.background >= at)))


def held_out(goal: Goal, scores: Scores) -> Errors:
    """What a bar for ``goal`` does with labelled questions, each judged by the bar of all others."""
    known, strange, far = scores.answerable, scores.unanswerable, scores.background
    refused = _each(known, lambda others: bar(goal, Scores(others, strange, far)), lambda one, at: one < at)
    passed = _each(strange, lambda others: bar(goal, Scores(known, others, far)), lambda one, at: one >= at)
    return Errors(refused, passed, errors(bar(goal, scores), scores).background)


def _each(values: Floats, fit: Callable[[Floats], float], wrong: Callable[[float, float], bool]) -> float | None:
    found: Sequence[bool] = [
        wrong(one, fit(np.delete(values, place))) for place, one in enumerate(values.tolist()) if len(values) > 1
    ]
    return float(np.mean(found)) if found else None


def _above(ascending: Floats, places: Floats) -> Floats:
    """The share of ``ascending`` that reaches each of ``places``."""
    return np.asarray(1 - np.searchsorted(ascending, places, side="left") / len(ascending), dtype=np.float64)
