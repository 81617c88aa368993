"""Platt scaling of the shipped confidence: a slope and a shift of its log odds, from labelled answers. Pure.

J. Platt, "Probabilistic outputs for support vector machines" (1999); here drawn towards the shipped chance, so that
few labels change little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluate.intervals import auroc, ece

LEAST = 49
"""So many answers must be labelled right or wrong before a fit is looked at."""
FOLDS = 10
SHIPPED = (1.0, 0.0)
PRECISION = (4.0, 1.0)
"""Of the prior: the slope is 1 give or take .5, the shift 0 give or take 1."""

type Floats = NDArray[np.float64]
type Odds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Quality:
    """How well chances tell right from wrong: mean log loss, calibration error in ten bins, AUROC (NaN: one class)."""

    log_loss: float
    ece: float
    auroc: float


def fit(log_odds: Floats, right: Floats, shipped: Odds = SHIPPED) -> Odds:
    """Slope (>= 0) and shift that make answers with ``log_odds`` likeliest to be ``right`` (1 or 0)."""
    from scipy.optimize import minimize

    prior, precision = np.array(shipped), np.array(PRECISION)

    def loss(theta: Floats) -> tuple[float, Floats]:
        z, away = theta[0] * log_odds + theta[1], theta - prior
        missed = 1 / (1 + np.exp(-z)) - right
        value = np.sum(np.logaddexp(0, z) - right * z) + precision @ away**2 / 2
        return float(value), np.array([missed @ log_odds, missed.sum()]) + precision * away

    found = minimize(loss, prior, jac=True, bounds=[(0, None), (None, None)], method="L-BFGS-B").x
    return float(found[0]), float(found[1])


def chances(log_odds: Floats, odds: Odds) -> Floats:
    """The chance (0..1) of each."""
    return np.asarray(1 / (1 + np.exp(-odds[0] * log_odds - odds[1])), dtype=np.float64)


def held_out(log_odds: Floats, right: Floats) -> Floats:
    """The chance of each, by a fit to the other nine tenths."""
    told = np.zeros(len(right))
    folds = np.random.default_rng(0).permutation(len(right)) % FOLDS
    for fold in range(FOLDS):
        there = folds == fold
        told[there] = chances(log_odds[there], fit(log_odds[~there], right[~there]))
    return told


def quality(told: Floats, right: Floats) -> Quality:
    """See ``Quality``; at least one answer."""
    sure = np.clip(told, 1e-6, 1 - 1e-6)
    log_loss = -np.mean(right * np.log(sure) + (1 - right) * np.log(1 - sure))
    rows = np.column_stack([told, right])
    return Quality(float(log_loss), ece(rows), auroc(rows))
