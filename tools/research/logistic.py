"""Logistic regression in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]


def logistic(rows: Floats, labels: Floats, weights: Floats, ridge: float = 1.0) -> Floats:
    """Return the weights of a logistic regression, the intercept last.

    Newton's method, with a ridge on all but the intercept.
    """
    design = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([ridge] * rows.shape[1] + [1e-9])
    theta = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(design @ theta)))
        gradient = design.T @ (weights * (chance - labels)) + penalty @ theta
        theta -= np.linalg.solve(design.T @ (design * (weights * chance * (1 - chance))[:, None]) + penalty, gradient)
    return theta
