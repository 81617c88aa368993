"""The chance that an answer which a model wrote is faithful to its sources, read off its checked claims.

A logistic regression over the mean support of its claims, fitted on answers of real models that people rated (``python
-m research.faithfulness ../shared/data/mtrag_rated``; docs/retrieval.md has its figures). It is the chance at the base
rate of that set, where 65 % of the answers are faithful and 18 % partly; ``CONFIDENCE_SHIFT`` moves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rag.values.answer import CheckedClaim, Level

WEIGHT, INTERCEPT = 12.55, -3.93
HIGH, MEDIUM = 0.8, 0.6
"""Chances from which the confidence in what a model wrote is High, or Medium.

Held out by conversation, 93 % of the answers from ``HIGH`` on are faithful, and 38 % of those below ``MEDIUM``.
"""
TYPICAL, PRIOR = 0.47, 2
"""The mean is taken with so many (``PRIOR``) typical claims more: one claim alone tells less than ten."""
UNCITED = 0.5
"""Share of its chance that a claim counts which cites nothing."""


def mean_support(statements: Sequence[CheckedClaim]) -> float:
    """Return the mean chance (0..1) of the claims, drawn towards a typical one."""
    chances = [one.chance * (1.0 if one.chunks else UNCITED) for one in statements]
    return (sum(chances) + PRIOR * TYPICAL) / (len(chances) + PRIOR)


def chance_faithful(statements: Sequence[CheckedClaim], shift: float = 0.0) -> float:
    """Return the chance (0..1) that an answer with these claims is faithful; ``shift`` is added to its log odds."""
    return 1 / (1 + math.exp(-INTERCEPT - WEIGHT * mean_support(statements) - shift))


def level_of_written(chance: float) -> Level:
    """Return the level of the confidence in what a model wrote."""
    return "High" if chance >= HIGH else "Medium" if chance >= MEDIUM else "Low"
