"""Logistic regression and how well its chances are calibrated, in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]


def logistic(rows: Floats, labels: Floats, weights: Floats, ridge: float = 1.0) -> Floats:
    """Weights of a logistic regression, the intercept last: Newton's method, a ridge on all but the intercept."""
    design = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([ridge] * rows.shape[1] + [1e-9])
    theta = np.zeros(design.shape[1])
    for _ in range(50):
        chance = probability(design @ theta)
        gradient = design.T @ (weights * (chance - labels)) + penalty @ theta
        theta -= np.linalg.solve(design.T @ (design * (weights * chance * (1 - chance))[:, None]) + penalty, gradient)
    return theta


def probability(log_odds: Floats) -> Floats:
    """The chances (0..1) of which ``log_odds`` are the logarithms of the odds."""
    return np.asarray(1 / (1 + np.exp(-log_odds)), dtype=np.float64)


def calibration_error(told: Floats, labels: Floats, weights: Floats, bins: int = 10) -> float:
    """Expected calibration error of the chances ``told`` in ``bins`` of equal width."""
    place = np.minimum((told * bins).astype(int), bins - 1)
    gaps = [abs(float((weights * (told - labels))[place == number].sum())) for number in range(bins)]
    return sum(gaps) / float(weights.sum())
