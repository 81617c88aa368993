"""The result as one self-contained page of HTML, made of page.html, which escapes all texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader

from evaluate.figures import (
    MetricChange,
    change_rows,
    describe_fault,
    format_range,
    format_result,
    format_value,
    reliability_bins,
    stage_rows,
    visible_figures,
    worst_results,
)
from evaluate.intervals import BINS, Bin, wilson
from evaluate.judge import JudgedQuestion, excerpt
from evaluate.report import Report

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 22, 46
TIME_BINS = 24
HEADROOM = 1.08
_LONGEST_SHOWN = 0.99


def range_bar(value: float, low: float | None, high: float | None, *, width: int = 180) -> str:
    """Draw a share or score, 0..1, on its scale, with its interval."""
    span = ""
    if low is not None and high is not None:
        wide = max(2.0, (high - low) * width)
        span = f'<rect class="span" x="{low * width:.1f}" y="2" width="{wide:.1f}" height="8" rx="4"/>'
    return (
        f'<svg viewBox="0 0 {width} 12" style="max-width:{width}px" role="img" aria-label="{100 * value:.0f} of 100">'
        f'<rect class="track" width="{width}" height="8" y="2" rx="4"/>{span}'
        f'<circle class="at" cx="{min(max(value * width, 5), width - 5):.1f}" cy="6" r="5"/></svg>'
    )


def reliability_plot(bins: Sequence[Bin]) -> str:
    """Draw the share of right answers over the stated confidence; a dot off the line is a false confidence."""
    ticks = range(0, 101, 25)
    parts = _axes([(tick / 100, f"{tick}") for tick in ticks], [(tick / 100, f"{tick} %") for tick in ticks])
    parts.append(_line((0, 0), (1, 1), 'class="axis" stroke-dasharray="5 5"'))
    most = max((one.n for one in bins), default=1)
    for one in bins:
        low, high = wilson(one.right, one.n)
        parts.append(_line((one.chance, low), (one.chance, high), 'class="range"'))
        x, y = _to_pixels(one.chance, one.right / one.n)
        radius = 4 + 7 * math.sqrt(one.n / most)
        title = f"{one.right} of {one.n} right, stated {100 * one.chance:.0f}"
        parts.append(
            f'<circle class="right" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{title}</title></circle>'
        )
    return _svg("Share of right answers by stated confidence", "stated confidence", "really right", parts)


def score_plot(scores: Sequence[tuple[float, bool]]) -> str:
    """Draw the counts of right and wrong answers by confidence; ``scores`` are chances (0..1) and whether right."""
    counts = [[0, 0] for _ in range(BINS)]
    for chance, is_right in scores:
        counts[min(int(chance * BINS), BINS - 1)][is_right] += 1
    most = HEADROOM * max(sum(both) for both in counts)
    parts = _axes([(tick / 100, f"{tick}") for tick in range(0, 101, 20)], _count_ticks(most))
    for place, (bad, good) in enumerate(counts):
        parts.append(_bar(place / BINS, (place + 1) / BINS, 0, good / most, "right", f"{good} right"))
        parts.append(_bar(place / BINS, (place + 1) / BINS, good / most, (good + bad) / most, "wrong", f"{bad} wrong"))
    for x, name in ((WIDTH - 130, "right"), (WIDTH - 70, "wrong")):
        parts.append(f'<rect class="{name}" x="{x}" y="3" width="11" height="11" rx="2"/>')
        parts.append(f'<text x="{x + 16}" y="13">{name}</text>')
    return _svg("Right and wrong answers by stated confidence", "stated confidence", "answers", parts)


def latency_plot(times: Sequence[float]) -> str:
    """Draw the counts of questions by time in milliseconds; the last bar includes all above the 99th percentile."""
    values = np.asarray(times, dtype=np.float64)
    end = max(float(np.quantile(values, _LONGEST_SHOWN)) * 1.02, 1e-3)
    counts = np.histogram(np.minimum(values, end), bins=TIME_BINS, range=(0, end))[0].tolist()
    most = HEADROOM * max(counts)
    x_ticks = [
        (tick / end, format_value(tick, "ms").replace(".0 ", " "))
        for tick in np.arange(0, 0.95 * end, _step(end)).tolist()
    ]
    parts = _axes(x_ticks, _count_ticks(most))
    for place, count in enumerate(counts):
        parts.append(_bar(place / TIME_BINS, (place + 1) / TIME_BINS, 0, count / most, "right", f"{count} questions"))
    for share, name in ((0.5, "half"), (0.95, "19 in 20")):
        at = min(float(np.quantile(values, share)) / end, 1.0)
        parts.append(_line((at, 0), (at, 1), 'class="axis" stroke-dasharray="4 4"'))
        x, _ = _to_pixels(at, 1)
        anchor = "end" if at > 0.5 else "start"
        parts.append(f'<text class="strong" x="{x:.1f}" y="{TOP - 6}" text-anchor="{anchor}">{name}</text>')
    return _svg("Time for one question", "time for one question", "questions", parts)


def _count_ticks(most: float) -> list[tuple[float, str]]:
    step = max(1, round(_step(most)))
    return [(count / most, str(count)) for count in range(0, int(most) + 1, step)]


def _step(end: float) -> float:
    """Return a round step (1, 2 or 5 times a power of ten) that divides 0..``end`` into three to eight parts."""
    power = 10.0 ** math.floor(math.log10(end / 3))
    return max(step for step in (power, 2 * power, 5 * power) if step * 3 <= end)


def _to_pixels(x: float, y: float) -> tuple[float, float]:
    return LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM)


def _line(start: tuple[float, float], end: tuple[float, float], attributes: str) -> str:
    (x1, y1), (x2, y2) = _to_pixels(*start), _to_pixels(*end)
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {attributes}/>'


def _bar(start: float, end: float, low: float, high: float, name: str, title: str) -> str:
    if high <= low:
        return ""
    (x1, bottom), (x2, top) = _to_pixels(start, low), _to_pixels(end, high)
    size = f'x="{x1 + 1:.1f}" y="{top:.1f}" width="{x2 - x1 - 2:.1f}" height="{bottom - top:.1f}"'
    return f'<rect class="{name}" {size}><title>{title}</title></rect>'


def _axes(x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]]) -> list[str]:
    parts = []
    for place, text in y_ticks:
        x, y = _to_pixels(0, place)
        parts.append(_line((0, place), (1, place), 'class="grid"'))
        parts.append(f'<text x="{x - 7:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    for place, text in x_ticks:
        x, y = _to_pixels(place, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle">{escape(text)}</text>')
    parts.append(_line((0, 0), (1, 0), 'class="axis"'))
    return parts


def _svg(name: str, x_name: str, y_name: str, parts: Sequence[str]) -> str:
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">{"".join(parts)}'
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>'
        f'<text x="4" y="{TOP - 9}">{escape(y_name)}</text></svg>'
    )


CAPTIONS = {
    "right": "of the questions that your documents answer",
    "falseRefusals": "of the same questions",
    "falseAnswers": "of the questions that they do not answer",
    "supported": "statements, by the service's own check of what they cite",
    "p50Ms": "half of the questions wait no longer",
}
"""The figures at the top of the page, with their captions."""


def page(report: Report, changes: Sequence[MetricChange]) -> str:
    """Return the page: the main figures, changes, the worst results, plots, all figures and every question."""
    loader = FileSystemLoader(Path(__file__).parent)
    template = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(
        "page.html"
    )
    return template.render(
        report=report,
        captions=CAPTIONS,
        sure_false_answers=sum(one.hits or 0 for one in report.figures if one.metric.name == "sureFalseAnswers"),
        changes=change_rows(changes),
        worst=worst_results(report.judged),
        plots=list(_draw_plots(report.judged)),
        groups=groupby(visible_figures(report.figures), key=lambda figure: figure.metric.group),
        stages=stage_rows(report.judged),
        describe_fault=describe_fault,
        excerpt=excerpt,
        format_range=format_range,
        format_result=format_result,
        range_bar=range_bar,
    )


def _draw_plots(judged: Sequence[JudgedQuestion]) -> Iterator[tuple[str, str, str]]:
    """Yield the title, the caption and the drawing of each plot that there are results for."""
    answers = [(one.score / 100, one.right) for one in judged if one.answered and one.right is not None]
    if answers:
        yield (
            "Does the confidence mean what it says?",
            "Each dot is a tenth of the scale, larger where it holds more answers. On the dashed line the "
            "confidence is exact; above it the service is too modest, below it too sure. Bars are likely ranges.",
            reliability_plot(reliability_bins(judged)),
        )
        yield (
            "Which answers can be trusted?",
            "The best picture has all wrong answers on the left and all right ones on the right.",
            score_plot(answers),
        )
    if times := [one.ms for one in judged if not one.failed]:
        yield "How long does a question take?", "All stages together, on this machine.", latency_plot(times)
