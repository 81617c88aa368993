"""Plots as inline SVG; colours are classes of ``page.css``, so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from evaluate.intervals import BINS, Bin, wilson
from evaluate.wording import value_of

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 22, 46
TIME_BINS = 24
HEADROOM = 1.08
_LONGEST_SHOWN = 0.99


def range_bar(value: float, low: float | None, high: float | None, *, width: int = 180) -> str:
    """A share or score, 0..1, on its scale, with its interval."""
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
    """Share right over stated confidence; the further a dot is off the line, the less the number can be trusted."""
    ticks = range(0, 101, 25)
    parts = _axes([(tick / 100, f"{tick}") for tick in ticks], [(tick / 100, f"{tick} %") for tick in ticks])
    parts.append(_line((0, 0), (1, 1), 'class="axis" stroke-dasharray="5 5"'))
    most = max((one.n for one in bins), default=1)
    for one in bins:
        low, high = wilson(one.right, one.n)
        parts.append(_line((one.chance, low), (one.chance, high), 'class="range"'))
        x, y = _at(one.chance, one.right / one.n)
        radius = 4 + 7 * math.sqrt(one.n / most)
        title = f"{one.right} of {one.n} right, stated {100 * one.chance:.0f}"
        parts.append(
            f'<circle class="right" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{title}</title></circle>'
        )
    parts += _labels("stated confidence", "really right")
    return _svg("Share of right answers by stated confidence", parts)


def score_plot(scores: Sequence[tuple[float, bool]]) -> str:
    """How many answers were right and wrong at each confidence; ``scores`` are chances (0..1) and whether right."""
    counts = [[0, 0] for _ in range(BINS)]
    for chance, is_right in scores:
        counts[min(int(chance * BINS), BINS - 1)][is_right] += 1
    most = HEADROOM * max(sum(both) for both in counts)
    parts = _axes([(tick / 100, f"{tick}") for tick in range(0, 101, 20)], _count_ticks(most))
    for place, (wrong, right) in enumerate(counts):
        parts.append(_bar(place / BINS, (place + 1) / BINS, 0, right / most, "right", f"{right} right"))
        parts.append(
            _bar(place / BINS, (place + 1) / BINS, right / most, (right + wrong) / most, "wrong", f"{wrong} wrong")
        )
    parts += _labels("stated confidence", "answers")
    for x, name in ((WIDTH - 130, "right"), (WIDTH - 70, "wrong")):
        parts.append(f'<rect class="{name}" x="{x}" y="3" width="11" height="11" rx="2"/>')
        parts.append(f'<text x="{x + 16}" y="13">{name}</text>')
    return _svg("Right and wrong answers by stated confidence", parts)


def latency_plot(times: Sequence[float]) -> str:
    """How many questions took how long, in milliseconds; those beyond the 99th percentile are in the last bar."""
    values = np.asarray(times, dtype=np.float64)
    end = max(float(np.quantile(values, _LONGEST_SHOWN)) * 1.02, 1e-3)
    counts = np.histogram(np.minimum(values, end), bins=TIME_BINS, range=(0, end))[0].tolist()
    most = HEADROOM * max(counts)
    x_ticks = [
        (tick / end, value_of(tick, "ms").replace(".0 ", " ")) for tick in np.arange(0, 0.95 * end, _step(end)).tolist()
    ]
    parts = _axes(x_ticks, _count_ticks(most))
    for place, count in enumerate(counts):
        parts.append(_bar(place / TIME_BINS, (place + 1) / TIME_BINS, 0, count / most, "right", f"{count} questions"))
    for share, name in ((0.5, "half"), (0.95, "19 in 20")):
        at = min(float(np.quantile(values, share)) / end, 1.0)
        parts.append(_line((at, 0), (at, 1), 'class="axis" stroke-dasharray="4 4"'))
        x, _ = _at(at, 1)
        anchor = "end" if at > 0.5 else "start"
        parts.append(f'<text class="strong" x="{x:.1f}" y="{TOP - 6}" text-anchor="{anchor}">{name}</text>')
    parts += _labels("time for one question", "questions")
    return _svg("Time for one question", parts)


def _count_ticks(most: float) -> list[tuple[float, str]]:
    step = max(1, round(_step(most)))
    return [(count / most, str(count)) for count in range(0, int(most) + 1, step)]


def _step(end: float) -> float:
    """A round step (1, 2 or 5 of a power of ten) that divides 0..``end`` into three to eight."""
    power = 10.0 ** math.floor(math.log10(end / 3))
    return max(step for step in (power, 2 * power, 5 * power) if step * 3 <= end)


def _at(x: float, y: float) -> tuple[float, float]:
    return LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM)


def _line(start: tuple[float, float], end: tuple[float, float], attributes: str) -> str:
    (x1, y1), (x2, y2) = _at(*start), _at(*end)
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {attributes}/>'


def _bar(start: float, end: float, low: float, high: float, name: str, title: str) -> str:
    if high <= low:
        return ""
    (x1, bottom), (x2, top) = _at(start, low), _at(end, high)
    size = f'x="{x1 + 1:.1f}" y="{top:.1f}" width="{x2 - x1 - 2:.1f}" height="{bottom - top:.1f}"'
    return f'<rect class="{name}" {size}><title>{title}</title></rect>'


def _axes(x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]]) -> list[str]:
    parts = []
    for place, text in y_ticks:
        x, y = _at(0, place)
        parts.append(_line((0, place), (1, place), 'class="grid"'))
        parts.append(f'<text x="{x - 7:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    for place, text in x_ticks:
        x, y = _at(place, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle">{escape(text)}</text>')
    parts.append(_line((0, 0), (1, 0), 'class="axis"'))
    return parts


def _labels(x_name: str, y_name: str) -> list[str]:
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    return [
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>',
        f'<text x="4" y="{TOP - 9}">{escape(y_name)}</text>',
    ]


def _svg(name: str, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
