"""The bar and the confidence's scale from labelled scores. Pure.

The bar is split-conformal (Vovk et al. 2005). Its scores are the joined evidence of ``knowledge.search.signals``; a
question below the bar is refused. The confidence is scaled by Platt's method ("Probabilistic outputs for support vector
machines", 1999): a slope and a shift of its log odds, drawn towards the shipped chance, so that few labels change
little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluate.intervals import auroc, ece
from evaluate.metrics import Goal

ALPHA = 0.05
"""The share of questions like the labelled ones that a conformal bar may judge wrongly."""
MIN_QUESTIONS = math.ceil(1 / ALPHA) - 1
"""The least number of labelled questions for a bar that promises ``ALPHA``."""
CONFIDENCE = 0.95
MOST_PASSED, MOST_BACKGROUND = 0.5, 0.2
"""A good bar passes at most these shares of the unanswerable and of the background questions."""
MIN_ANSWERS = 49
"""The least number of answers labelled right or wrong for a fit of the confidence."""
FOLDS = 10
SHIPPED = (1.0, 0.0)
PRECISION = (4.0, 1.0)
"""Of the prior: a slope of 1 with a deviation of .5, a shift of 0 with a deviation of 1."""

type Floats = NDArray[np.float64]
type Odds = tuple[float, float]
"""Slope and shift of log odds."""


@dataclass(frozen=True, slots=True)
class LabelledScores:
    """The scores of answerable, of unanswerable and of background questions."""

    answerable: Floats
    unanswerable: Floats
    background: Floats


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """Shares (0..1): answerable questions that are ``refused``, other questions that pass; None without questions."""

    refused: float | None
    passed: float | None
    background: float

    @property
    def loss(self) -> float:
        """The share refused plus the mean of the shares passed."""
        passed = [self.background] if self.passed is None else [self.passed, self.background]
        return (self.refused or 0.0) + sum(passed) / len(passed)

    @property
    def is_good(self) -> bool:
        """Whether most questions that the index cannot answer are refused."""
        return (self.passed or 0.0) <= MOST_PASSED and self.background <= MOST_BACKGROUND


@dataclass(frozen=True, slots=True)
class ConformalBound:
    """The bound of a bar at the ``place``-th of ``count`` labelled questions."""

    place: int
    count: int

    @classmethod
    def from_count(cls, count: int) -> ConformalBound:
        """Return the bound of a bar from ``count`` questions, ``MIN_QUESTIONS`` or more."""
        return cls(max(1, math.floor(ALPHA * (count + 1))), count)

    @property
    def mean(self) -> float:
        """The highest chance that another such question is judged wrongly, as a mean over samples of this size."""
        return self.place / (self.count + 1)

    @property
    def surely(self) -> float:
        """The share not exceeded with 95 % confidence: a quantile of Beta(place, count + 1 - place)."""
        from scipy.special import betaincinv

        return float(betaincinv(self.place, self.count + 1 - self.place, CONFIDENCE))


def fit_bar(goal: Goal, scores: LabelledScores) -> float:
    """Return the bar for ``goal``; both kinds of questions that it depends on must be present."""
    answerable, unanswerable = np.sort(scores.answerable), np.sort(scores.unanswerable)
    if goal is Goal.FALSE_REFUSALS:
        return float(answerable[ConformalBound.from_count(len(answerable)).place - 1])
    if goal is Goal.FALSE_ANSWERS:
        return float(np.nextafter(unanswerable[-ConformalBound.from_count(len(unanswerable)).place], np.inf))
    bars = np.unique(np.concatenate([answerable, np.nextafter(unanswerable, np.inf)]))
    passed = [_share_above(kind, bars) for kind in (unanswerable, np.sort(scores.background)) if len(kind)]
    return float(bars[np.argmin(1 - _share_above(answerable, bars) + np.mean(passed, axis=0))])


def _share_above(ascending: Floats, bars: Floats) -> Floats:
    """Return the share of ``ascending`` that reaches each of ``bars``."""
    return np.asarray(1 - np.searchsorted(ascending, bars, side="left") / len(ascending), dtype=np.float64)


def error_rates(bar: float, scores: LabelledScores) -> ErrorRates:
    """Return the errors of ``bar`` on questions that it was not fitted to."""
    refused = float(np.mean(scores.answerable < bar)) if len(scores.answerable) else None
    passed = float(np.mean(scores.unanswerable >= bar)) if len(scores.unanswerable) else None
    return ErrorRates(refused, passed, float(np.mean(scores.background >= bar)))


def held_out_errors(goal: Goal, scores: LabelledScores) -> ErrorRates:
    """Return the errors of a bar for ``goal`` by leave-one-out: each question is judged by the bar of all others."""
    known, strange, far = scores.answerable, scores.unanswerable, scores.background
    refused = _leave_one_out(
        known, lambda others: fit_bar(goal, LabelledScores(others, strange, far)), lambda one, bar: one < bar
    )
    passed = _leave_one_out(
        strange, lambda others: fit_bar(goal, LabelledScores(known, others, far)), lambda one, bar: one >= bar
    )
    return ErrorRates(refused, passed, error_rates(fit_bar(goal, scores), scores).background)


def _leave_one_out(
    values: Floats, fit: Callable[[Floats], float], is_wrong: Callable[[float, float], bool]
) -> float | None:
    wrong: Sequence[bool] = [
        is_wrong(one, fit(np.delete(values, place))) for place, one in enumerate(values.tolist()) if len(values) > 1
    ]
    return float(np.mean(wrong)) if wrong else None


@dataclass(frozen=True, slots=True)
class ChanceQuality:
    """How well chances separate right from wrong: mean log loss, ECE in ten bins, AUROC (NaN: one class)."""

    log_loss: float
    ece: float
    auroc: float


def fit_odds(log_odds: Floats, right: Floats, shipped: Odds = SHIPPED) -> Odds:
    """Return the most likely slope (>= 0) and shift for answers with ``log_odds`` that are ``right`` (1 or 0)."""
    from scipy.optimize import minimize

    prior, precision = np.array(shipped), np.array(PRECISION)

    def loss(theta: Floats) -> tuple[float, Floats]:
        z, distance = theta[0] * log_odds + theta[1], theta - prior
        residual = 1 / (1 + np.exp(-z)) - right
        value = np.sum(np.logaddexp(0, z) - right * z) + precision @ distance**2 / 2
        return float(value), np.array([residual @ log_odds, residual.sum()]) + precision * distance

    slope, shift = minimize(loss, prior, jac=True, bounds=[(0, None), (None, None)], method="L-BFGS-B").x
    return float(slope), float(shift)


def scale_chances(log_odds: Floats, odds: Odds) -> Floats:
    """Return the chances (0..1) of ``log_odds`` scaled by ``odds``."""
    return np.asarray(1 / (1 + np.exp(-odds[0] * log_odds - odds[1])), dtype=np.float64)


def held_out_chances(log_odds: Floats, right: Floats) -> Floats:
    """Return the chance of each answer by a fit to the other nine tenths."""
    chances = np.zeros(len(right))
    folds = np.random.default_rng(0).permutation(len(right)) % FOLDS
    for fold in range(FOLDS):
        own = folds == fold
        chances[own] = scale_chances(log_odds[own], fit_odds(log_odds[~own], right[~own]))
    return chances


def measure_chances(chances: Floats, right: Floats) -> ChanceQuality:
    """Return the quality of ``chances``; at least one answer."""
    clipped = np.clip(chances, 1e-6, 1 - 1e-6)
    log_loss = -np.mean(right * np.log(clipped) + (1 - right) * np.log(1 - clipped))
    rows = np.column_stack([chances, right])
    return ChanceQuality(float(log_loss), ece(rows), auroc(rows))
