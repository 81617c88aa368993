"""Logistic regression in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]


def fit_logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Return the weights of a logistic regression, the intercept last, shape (columns + 1,).

    Newton's method; the ridge penalty of 1 spares the intercept. ``weights`` weigh the rows.
    """
    design = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([1.0] * rows.shape[1] + [1e-9])
    theta = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(design @ theta)))
        gradient = design.T @ (weights * (chance - labels)) + penalty @ theta
        theta -= np.linalg.solve(design.T @ (design * (weights * chance * (1 - chance))[:, None]) + penalty, gradient)
    return theta


def fit_scaled_logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Do the same with columns scaled to unit deviation, but return the weights of the unscaled columns."""
    scale = rows.std(axis=0)
    theta = fit_logistic(rows / scale, labels, weights)
    return np.append(theta[:-1] / scale, theta[-1])
