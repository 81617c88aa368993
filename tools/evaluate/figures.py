"""From judged questions to figures with intervals, and to what is told around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluate.intervals import Bin, bootstrap, ratio, reliability, wilson
from evaluate.metrics import BY_NAME, METRICS, SUPPORT, Metric

if TYPE_CHECKING:
    from evaluate.judge import JudgedQuestion

WORST = 10
FEW = 50
"""Labelled answers below which a reliability table is mostly chance."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's ``value`` and 95 % interval, None where nothing gives them. ``n`` counts the questions.

    Of a share, ``hits`` and ``of`` count what it is a share of: questions, statements or citations.
    """

    metric: Metric
    value: float | None
    low: float | None
    high: float | None
    n: int
    hits: int | None = None
    of: int | None = None


def measure(judged: Sequence[JudgedQuestion], *, seed: int) -> list[Figure]:
    """Every metric of ``judged``: Wilson's interval for shares of questions, else the bootstrap's.

    Where all questions give the same the bootstrap has no width; the interval is then Wilson's of as many questions.
    """
    return [_figure(metric, judged, seed) for metric in METRICS]


def _figure(metric: Metric, judged: Sequence[JudgedQuestion], seed: int) -> Figure:
    rows = metric.rows(judged)
    n = len(rows)
    value = metric.statistic(rows) if n else math.nan
    if math.isnan(value) or (metric.name == "usdPer1000" and n < sum(not one.failed for one in judged)):
        return Figure(metric, None, None, None, n)
    hits, of = (round(total) for total in rows.sum(axis=0).tolist())
    if metric.unit == "share" and metric.group != SUPPORT:
        return Figure(metric, value, *wilson(hits, n), n, hits, of)
    drawn = bootstrap(rows, metric.statistic, seed=seed)  # by question: its statements hang together
    if drawn and drawn[0] == drawn[1] and metric.statistic is ratio and metric.unit in {"share", "score"}:
        drawn = wilson(round(value * n), n)  # all the same, which is no proof that all others are
    low, high = drawn or (None, None)
    return (
        Figure(metric, value, low, high, n, hits, of) if metric.unit == "share" else Figure(metric, value, low, high, n)
    )


def bins(judged: Sequence[JudgedQuestion]) -> list[Bin]:
    """The reliability table: answers by the chance that their confidence gives."""
    return reliability(BY_NAME["ece"].rows(judged))


def stages(judged: Sequence[JudgedQuestion]) -> Mapping[str, tuple[float, float]]:
    """The median and the 95th percentile of each stage's milliseconds, over the questions that passed it."""
    times: dict[str, list[float]] = {}
    for one in judged:
        for stage, ms in one.stages.items():
            times.setdefault(stage, []).append(ms)
    return {
        stage: (float(np.quantile(values, 0.5)), float(np.quantile(values, 0.95))) for stage, values in times.items()
    }


def wrong(one: JudgedQuestion) -> str:
    """What is wrong with a result, in words for its reader; "" for nothing that the labels tell."""
    if one.failed:
        return f"failed: {one.failed}"
    if one.answerable is False:
        return "" if one.refused else "answered, but the documents do not say"
    if one.refused:
        return "said no" if one.answerable else ""
    if one.right is False:
        return "the expected words are not in it" if one.gold else "the right document is not cited"
    return ""


def worst(judged: Sequence[JudgedQuestion]) -> list[JudgedQuestion]:
    """Up to ten results to look at first: wrong answers, the surest first; then refusals, found places first."""
    bad = [one for one in judged if wrong(one) and not one.failed]
    return sorted(bad, key=lambda one: (one.refused, -one.score, -(one.ndcg or 0.0)))[:WORST]


def label_notes(judged: Sequence[JudgedQuestion]) -> list[str]:
    """What the labels are too few or too thin for."""
    notes = []
    answers = len(BY_NAME["ece"].rows(judged))
    if answers < FEW:
        notes.append(
            f"Confidence was compared with {answers} judged answers: below {FEW}, its figures are mostly chance."
        )
    if not any(one.answerable is False for one in judged):
        notes.append('No question has "answerable": false: add some, else it is not seen whether it says no.')
    if unjudged := sum(one.answerable is None for one in judged):
        notes.append(f"{unjudged} questions have no label: they count for time, cost and statements only.")
    return notes
