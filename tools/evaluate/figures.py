"""From judged questions to figures with intervals, their change since an older run, their limits, and their wording."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from evaluate.intervals import Bin, Rows, bootstrap, paired, ratio, reliability, wilson
from evaluate.metrics import BY_NAME, LIMITED, METRICS, SUPPORT, Metric, Unit

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


def parse_limits(given: Sequence[str]) -> dict[str, float]:
    """The limits by metric, of ``NAME=VALUE`` with commas between, repeated or not; the last of a name counts.

    Raises:
        ValueError: an unknown name, with those that are accepted; or what is no number.
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


def broken(limits: Mapping[str, float], figures: Sequence[Figure]) -> list[str]:
    """A phrase for each limit that is not kept; a figure that could not be measured keeps none."""
    values = {figure.metric.name: figure.value for figure in figures}
    phrases = []
    for name, limit in limits.items():
        value, lower = values[name], BY_NAME[name].better == "lower"
        if value is None:
            phrases.append(f"{name} could not be measured")
        elif value > limit if lower else value < limit:
            phrases.append(f"{name} is {value:.4g}, {'over' if lower else 'under'} {limit:g}")
    return phrases


MS_PER_S = 1000
OF_LLM = {"llmCalls", "promptTokens", "completionTokens", "usdPer1000"}


def format_value(value: float, unit: Unit) -> str:
    """A value with its unit."""
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


def shown_figures(figures: Sequence[Figure]) -> list[Figure]:
    """The figures that are worth a line: without an LLM none of those on its use."""
    unused = any(figure.metric.name == "llmCalls" and figure.value == 0 for figure in figures)
    return [figure for figure in figures if not (unused and figure.metric.name in OF_LLM)]


def shown_changes(changes: Sequence[Change]) -> list[Change]:
    """The changes that are worth a line: without an LLM on either side none of its use."""
    return [one for one in changes if one.old or one.new or one.metric.name not in OF_LLM]


def metric_name(metric: Metric) -> str:
    """The plain name; the technical one where that only goes on from the line above."""
    return metric.technical if metric.plain.startswith("...") else metric.plain


def format_result(figure: Figure) -> str:
    """The value; of a share what it counts, as "71 of 161 (44 %)"; "not measured" for none."""
    if figure.value is None:
        return "not measured"
    said = format_value(figure.value, figure.metric.unit)
    return said if figure.hits is None else f"{figure.hits} of {figure.of} ({said})"


def format_interval(figure: Figure) -> str:
    """The 95 % interval, as "37 to 52 %"; "" for none."""
    return format_range(figure.low, figure.high, figure.metric.unit)


def format_change(one: Change) -> str:
    """The difference with its sign."""
    sign = "+" if one.difference >= 0 else "-"
    points = " points" if one.metric.unit == "share" else ""
    said = format_value(abs(one.difference), one.metric.unit)
    return sign + (said.removesuffix(" %") + points if points else said)


def format_range(low: float | None, high: float | None, unit: Unit) -> str:
    """Two values with their unit once."""
    if low is None or high is None:
        return ""
    first, last = format_value(low, unit).removesuffix(" chars"), format_value(high, unit).removesuffix(" chars")
    for suffix in (" %", " ms", " s"):
        if first.endswith(suffix) and last.endswith(suffix):
            return f"{first.removesuffix(suffix)} to {last}"
    return f"{first} to {last}"
