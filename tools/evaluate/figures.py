"""Figures of judged questions: their intervals, their change since an older run, their limits, and their format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evaluate.intervals import Bin, bootstrap, paired_bootstrap, ratio, reliability, wilson
from evaluate.judge import JudgedQuestion
from evaluate.metrics import BY_NAME, LIMITED, METRICS, SUPPORT, Metric, Unit

WORST = 10
FEW = 50
"""Labelled answers below which a reliability table is mostly chance."""
MS_PER_S = 1000
OF_LLM = {"llmCalls", "promptTokens", "completionTokens", "usdPer1000"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's ``value`` over ``n`` questions with its 95 % interval; None if they cannot be measured.

    A share is ``hits`` ``of`` a number of questions, statements or citations.
    """

    metric: Metric
    value: float | None
    low: float | None
    high: float | None
    n: int
    hits: int | None = None
    of: int | None = None


def measure(judged: Sequence[JudgedQuestion], *, seed: int) -> list[Figure]:
    """Return every metric of ``judged``, with Wilson's interval for shares of questions, else the bootstrap's.

    If all questions have the same value, the bootstrap has no width, and Wilson's interval is used.
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
        drawn = wilson(round(value * n), n)  # the same value in this sample does not prove it for others
    low, high = drawn or (None, None)
    counts = (hits, of) if metric.unit == "share" else (None, None)
    return Figure(metric, value, low, high, n, *counts)


def reliability_bins(judged: Sequence[JudgedQuestion]) -> list[Bin]:
    """Return the reliability table: answers by the chance that their confidence states."""
    return reliability(BY_NAME["ece"].rows(judged))


def stage_times(judged: Sequence[JudgedQuestion]) -> list[tuple[str, float, float]]:
    """Return each stage with the median and the 95th percentile of its milliseconds, over questions that have it."""
    times: dict[str, list[float]] = {}
    for one in judged:
        for stage, ms in one.stages.items():
            times.setdefault(stage, []).append(ms)
    return [(stage, *np.quantile(values, (0.5, 0.95)).tolist()) for stage, values in times.items()]


def describe_fault(one: JudgedQuestion) -> str:
    """Return a phrase on the fault of a result, or "" if the labels show none."""
    if one.failed:
        return f"failed: {one.failed}"
    if one.answerable is False:
        return "" if one.refused else "answered, but the documents do not say"
    if one.refused:
        return "said no" if one.answerable else ""
    if one.right is False:
        return "the expected words are not in it" if one.gold else "the right document is not cited"
    return ""


def worst_results(judged: Sequence[JudgedQuestion]) -> list[JudgedQuestion]:
    """Return up to ten wrong results: answers, the surest first; then refusals, the best search first."""
    faulty = [one for one in judged if describe_fault(one) and not one.failed]
    return sorted(faulty, key=lambda one: (one.refused, -one.score, -(one.ndcg or 0.0)))[:WORST]


def label_notes(judged: Sequence[JudgedQuestion]) -> list[str]:
    """Return sentences on figures that the labels do not suffice for."""
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


type Verdict = Literal["better", "worse", "changed", "no difference seen", ""]


@dataclass(frozen=True, slots=True)
class MetricChange:
    """``new - old`` of a metric, over the ``n`` questions that both measured, with its paired 95 % interval.

    Without such questions ``n`` is 0, ``old`` and ``new`` are of all questions, and there is neither an interval nor a
    ``verdict``. Times have no verdict: other work of the machine changes all times of a run, which no interval shows.
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


def compare_figures(
    figures: Sequence[Figure],
    judged: Sequence[JudgedQuestion],
    old_values: Mapping[str, float],
    old_judged: Sequence[JudgedQuestion],
    *,
    seed: int,
) -> list[MetricChange]:
    """Return the change of every metric that both runs have a value of."""
    old = {one.question: one for one in old_judged}
    pairs = [(one, old[one.question]) for one in judged if one.question in old]
    changes = []
    for figure in figures:
        old_value = old_values.get(figure.metric.name)
        if change := _compare_pairs(figure.metric, pairs, seed):
            changes.append(change)
        elif old_value is not None and figure.value is not None:
            changes.append(MetricChange(figure.metric, old_value, figure.value, None, None, 0, ""))
    return changes


def _compare_pairs(
    metric: Metric, pairs: Sequence[tuple[JudgedQuestion, JudgedQuestion]], seed: int
) -> MetricChange | None:
    both = [pair for pair in pairs if all(metric.row(one) is not None for one in pair)]
    if not both:
        return None
    new, old = metric.rows([new for new, _ in both]), metric.rows([old for _, old in both])
    values = metric.statistic(old), metric.statistic(new)
    if any(map(math.isnan, values)):
        return None
    low, high = paired_bootstrap(new, old, metric.statistic, seed=seed) or (None, None)
    return MetricChange(metric, *values, low, high, len(both), _choose_verdict(metric, low, high))


def _choose_verdict(metric: Metric, low: float | None, high: float | None) -> Verdict:
    if low is None or high is None or metric.unit == "ms":
        return ""
    if low <= 0 <= high:
        return "no difference seen"
    if not metric.better:
        return "changed"
    return "better" if (low > 0) == (metric.better == "higher") else "worse"


def parse_limits(given: Sequence[str]) -> dict[str, float]:
    """Parse ``NAME=VALUE`` pairs, separated by commas or repeated; the last of a name counts.

    Raises:
        ValueError: a name is unknown, or a value is no number.
    """
    limits: dict[str, float] = {}
    for part in (part.strip() for text in given for part in text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in LIMITED:
            raise ValueError(f"{name!r} is not one of {', '.join(LIMITED)}")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = math.nan
        if not math.isfinite(limits[name]):
            raise ValueError(f"{part!r} is not NAME=VALUE with a number")
    return limits


def broken_limits(limits: Mapping[str, float], figures: Sequence[Figure]) -> list[str]:
    """Return a phrase for each limit that is not kept; a figure that could not be measured breaks its limit."""
    values = {figure.metric.name: figure.value for figure in figures}
    phrases = []
    for name, limit in limits.items():
        value, lower = values[name], BY_NAME[name].better == "lower"
        if value is None:
            phrases.append(f"{name} could not be measured")
        elif value > limit if lower else value < limit:
            phrases.append(f"{name} is {value:.4g}, {'over' if lower else 'under'} {limit:g}")
    return phrases


def format_value(value: float, unit: Unit) -> str:
    """Return a value with its unit."""
    match unit:
        case "share":
            return f"{100 * value:.0f} %"
        case "score":
            return f"{value:.3f}"
        case "ms":
            return f"{value / MS_PER_S:.2f} s" if abs(value) >= MS_PER_S else f"{value:.1f} ms"
        case "usd":
            return f"${value:.2f}"
        case "chars":
            return f"{value:.0f} chars"
        case "count":
            return f"{value:.2f}"


def visible_figures(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures for people: those on the LLM only if one was used."""
    unused = any(figure.metric.name == "llmCalls" and figure.value == 0 for figure in figures)
    return [figure for figure in figures if not (unused and figure.metric.name in OF_LLM)]


def format_result(figure: Figure) -> str:
    """Return the value, a share as "71 of 161 (44 %)", or "not measured"."""
    if figure.value is None:
        return "not measured"
    value = format_value(figure.value, figure.metric.unit)
    return value if figure.hits is None else f"{figure.hits} of {figure.of} ({value})"


def change_rows(changes: Sequence[MetricChange]) -> list[tuple[str, ...]]:
    """Return a row of each change for people: name, old and new value, difference, its interval, verdict.

    The LLM's use is left out if neither run used one. A plain name that continues the line above is replaced by the
    technical one.
    """
    rows: list[tuple[str, ...]] = []
    for one in changes:
        metric, unit = one.metric, one.metric.unit
        if metric.name in OF_LLM and not (one.old or one.new):
            continue
        difference = format_value(abs(one.difference), unit)
        if unit == "share":
            difference = f"{difference.removesuffix(' %')} points"
        rows.append(
            (
                metric.technical if metric.plain.startswith("...") else metric.plain,
                format_value(one.old, unit),
                format_value(one.new, unit),
                ("+" if one.difference >= 0 else "-") + difference,
                format_range(one.low, one.high, unit),
                one.verdict,
            )
        )
    return rows


def stage_rows(judged: Sequence[JudgedQuestion]) -> list[tuple[str, str, str]]:
    """Return a row of each stage for people, the slowest first: its median and its 95th percentile."""
    slowest_first = sorted(stage_times(judged), key=lambda row: -row[1])
    return [(stage, format_value(median, "ms"), format_value(long, "ms")) for stage, median, long in slowest_first]


def format_range(low: float | None, high: float | None, unit: Unit) -> str:
    """Return two values with their unit once, as "37 to 52 %"; "" without them."""
    if low is None or high is None:
        return ""
    first, last = format_value(low, unit).removesuffix(" chars"), format_value(high, unit).removesuffix(" chars")
    for suffix in (" %", " ms", " s"):
        if first.endswith(suffix) and last.endswith(suffix):
            return f"{first.removesuffix(suffix)} to {last}"
    return f"{first} to {last}"
