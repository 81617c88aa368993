"""Two measurements of the same questions side by side: what became better, what worse, and what may be chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from evaluate.intervals import Rows, paired
from evaluate.metrics import Metric

if TYPE_CHECKING:
    from evaluate.figures import Figure
    from evaluate.judge import JudgedQuestion

type Verdict = Literal["better", "worse", "changed", "no difference seen", ""]


@dataclass(frozen=True, slots=True)
class Change:
    """``new - old`` of a metric, over the ``n`` questions that both measured, with its paired 95 % interval.

    Without such questions ``n`` is 0, ``old`` and ``new`` are of all questions, and there is neither an interval nor a
    ``verdict``. Times get no verdict: what else a machine does changes all of a run's, and no interval knows of that.
    """

    metric: Metric
    old: float
    new: float
    low: float | None
    high: float | None
    n: int
    verdict: Verdict

    @property
    def difference(self) -> float:
        """``new - old``."""
        return self.new - self.old


def compare(
    figures: Sequence[Figure],
    judged: Sequence[JudgedQuestion],
    old_values: Mapping[str, float],
    old_judged: Sequence[JudgedQuestion],
    *,
    seed: int,
) -> list[Change]:
    """The change of every metric that both sides have a value of."""
    old = {one.question: one for one in old_judged}
    pairs = [(one, old[one.question]) for one in judged if one.question in old]
    changes = (_paired(figure.metric, pairs, seed) or _plain(figure, old_values) for figure in figures)
    return [change for change in changes if change is not None]


def _paired(metric: Metric, pairs: Sequence[tuple[JudgedQuestion, JudgedQuestion]], seed: int) -> Change | None:
    rows = [(metric.row(new), metric.row(old)) for new, old in pairs]
    both = [(new, old) for new, old in rows if new is not None and old is not None]
    new, old = _rows([new for new, _ in both]), _rows([old for _, old in both])
    values = (metric.statistic(old), metric.statistic(new)) if both else (math.nan, math.nan)
    if math.isnan(values[0]) or math.isnan(values[1]):
        return None
    low, high = paired(new, old, metric.statistic, seed=seed) or (None, None)
    return Change(metric, *values, low, high, len(both), _verdict(metric, low, high))


def _plain(figure: Figure, old_values: Mapping[str, float]) -> Change | None:
    old = old_values.get(figure.metric.name)
    if old is None or figure.value is None:
        return None
    return Change(figure.metric, old, figure.value, None, None, 0, "")


def _verdict(metric: Metric, low: float | None, high: float | None) -> Verdict:
    if low is None or high is None or metric.unit == "ms":
        return ""
    if low <= 0 <= high:
        return "no difference seen"
    if not metric.better:
        return "changed"
    return "better" if (low > 0) == (metric.better == "higher") else "worse"


def _rows(rows: Sequence[tuple[float, float]]) -> Rows:
    return np.asarray(rows, dtype=np.float64).reshape(-1, 2)
