"""Figures as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluate.compare import Change
    from evaluate.figures import Figure
    from evaluate.metrics import Metric, Unit

MS_PER_S = 1000
OF_LLM = {"llmCalls", "promptTokens", "completionTokens", "usdPer1000"}


def value_of(value: float, unit: Unit) -> str:
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


def told(figures: Sequence[Figure]) -> list[Figure]:
    """The figures that are worth a line: without an LLM none of those on its use."""
    unused = any(figure.metric.name == "llmCalls" and figure.value == 0 for figure in figures)
    return [figure for figure in figures if not (unused and figure.metric.name in OF_LLM)]


def told_changes(changes: Sequence[Change]) -> list[Change]:
    """The changes that are worth a line: without an LLM on either side none of its use."""
    return [one for one in changes if one.old or one.new or one.metric.name not in OF_LLM]


def name_of(metric: Metric) -> str:
    """The plain name; the technical one where that only goes on from the line above."""
    return metric.technical if metric.plain.startswith("...") else metric.plain


def result(figure: Figure) -> str:
    """The value; of a share what it counts, as "71 of 161 (44 %)"; "not measured" for none."""
    if figure.value is None:
        return "not measured"
    said = value_of(figure.value, figure.metric.unit)
    return said if figure.hits is None else f"{figure.hits} of {figure.of} ({said})"


def interval(figure: Figure) -> str:
    """The 95 % interval, as "37 to 52 %"; "" for none."""
    return between(figure.low, figure.high, figure.metric.unit)


def change(one: Change) -> str:
    """The difference with its sign."""
    sign = "+" if one.difference >= 0 else "-"
    points = " points" if one.metric.unit == "share" else ""
    said = value_of(abs(one.difference), one.metric.unit)
    return sign + (said.removesuffix(" %") + points if points else said)


def between(low: float | None, high: float | None, unit: Unit) -> str:
    """Two values with their unit once."""
    if low is None or high is None:
        return ""
    first, last = value_of(low, unit).removesuffix(" chars"), value_of(high, unit).removesuffix(" chars")
    for suffix in (" %", " ms", " s"):
        if first.endswith(suffix) and last.endswith(suffix):
            return f"{first.removesuffix(suffix)} to {last}"
    return f"{first} to {last}"
