"""The result as one self-contained page of HTML; the texts of documents and questions are escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evaluate.figures import (
    change_rows,
    describe_fault,
    format_interval,
    format_result,
    format_value,
    reliability_bins,
    stage_rows,
    visible_figures,
    worst_results,
)
from evaluate.intervals import BINS, Bin, wilson
from evaluate.judge import excerpt

if TYPE_CHECKING:
    from evaluate.figures import Figure, MetricChange
    from evaluate.judge import JudgedQuestion
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


STYLE = Path(__file__).with_name("page.css")
TILES = {
    "right": "of the questions that your documents answer",
    "falseRefusals": "of the same questions",
    "falseAnswers": "of the questions that they do not answer",
    "supported": "statements, by the service's own check of what they cite",
    "p50Ms": "half of the questions wait no longer",
}
"""The figures at the top of the page, with their captions."""


def page(report: Report, changes: Sequence[MetricChange]) -> str:
    """Return the page: the main figures, changes, the worst results, plots, all figures and every question."""
    title = "How well it answers"
    notes = "".join(f"<p>{escape(one)}</p>" for one in report.notes)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>",
        f"<h1>{title}</h1>",
        f'<p class="quiet">{len(report.judged)} questions to {escape(report.index)}, profile {escape(report.profile)}, '
        f"written by {escape(report.model)}</p>",
        f'<div class="notes">{notes}</div>' if notes else "",
        *_render_tiles(report.figures),
        *_render_changes(changes),
        *_render_worst(worst_results(report.judged)),
        *_render_plots(report.judged),
        *_render_figures(report.figures),
        *_render_stages(report.judged),
        *_render_questions(report.judged),
        f'<p class="small quiet">Index {escape(report.version)}, seed {report.seed}, '
        f"replies in {escape(report.results_path)}</p>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _render_tiles(figures: Sequence[Figure]) -> Iterator[str]:
    yield '<div class="tiles">'
    for figure in figures:
        if (caption := TILES.get(figure.metric.name)) and figure.value is not None:
            count, _, share = format_result(figure).partition(" (")
            yield f'<div class="tile"><h3>{escape(figure.metric.plain)}</h3>'
            yield f"<b>{count} <small>{share.rstrip(')')}</small></b>"
            yield range_bar(figure.value, figure.low, figure.high) if figure.hits is not None else ""
            low = ""
            if figure.metric.name == "falseAnswers":
                sure = sum(one.hits or 0 for one in figures if one.metric.name == "sureFalseAnswers")
                low = f"; {(figure.hits or 0) - sure} of them marked Low"
            yield f'<div class="small quiet">{escape(caption)}; likely {format_interval(figure)}{low}</div></div>'
    yield "</div>"


def _render_figures(figures: Sequence[Figure]) -> Iterator[str]:
    yield "<h2>All figures</h2>"
    yield '<p class="quiet">The likely range holds the true figure in 95 of 100 such measurements.</p>'
    yield _table("", "Result", "Likely range", "", "Metric", "n")
    for group, members in groupby(visible_figures(figures), key=lambda figure: figure.metric.group):
        yield f'<tr class="group"><td colspan="6">{escape(group)}</td></tr>'
        for one in members:
            metric, bar = one.metric, ""
            if one.value is not None and metric.unit in {"share", "score"}:
                bar = range_bar(one.value, one.low, one.high, width=120)
            cells = (f'<td class="number">{cell}</td>' for cell in (format_result(one), format_interval(one)))
            yield (
                f"<tr><td>{escape(metric.plain)}</td>{''.join(cells)}<td style='min-width:8rem'>{bar}</td>"
                f'<td class="technical">{escape(metric.technical)} <code>{metric.name}</code></td><td>{one.n}</td></tr>'
            )
    yield "</table></div>"


def _render_plots(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    answers = [(one.score / 100, one.right) for one in judged if one.answered and one.right is not None]
    times = [one.ms for one in judged if not one.failed]
    plots = []
    if answers:
        plots += [
            (
                "Does the confidence mean what it says?",
                "Each dot is a tenth of the scale, larger where it holds more answers. On the dashed line the "
                "confidence is exact; above it the service is too modest, below it too sure. Bars are likely ranges.",
                reliability_plot(reliability_bins(judged)),
            ),
            (
                "Which answers can be trusted?",
                "The best picture has all wrong answers on the left and all right ones on the right.",
                score_plot(answers),
            ),
        ]
    if times:
        plots.append(("How long does a question take?", "All stages together, on this machine.", latency_plot(times)))
    yield '<h2>Confidence and time</h2><div class="plots">'
    for name, caption, plot in plots:
        yield f"<figure><h3>{name}</h3>{plot}<figcaption>{caption}</figcaption></figure>"
    yield "</div>"


def _render_worst(worst: Sequence[JudgedQuestion]) -> Iterator[str]:
    if not worst:
        return
    yield "<h2>Look at these first</h2>"
    yield '<p class="quiet">Wrong answers, the surest first; then questions that were declined.</p>'
    yield '<div class="cases">'
    for one in worst:
        fault = f'<span class="bad">{escape(describe_fault(one))}</span>'
        rows = {"What is wrong": f"{fault}, confidence {one.score:.0f} of 100"}
        if one.gold:
            rows["Expected"] = escape(one.gold)
        if one.expected:
            rows["Stands in"] = escape(", ".join(one.expected))
        rows["It said"] = escape(excerpt(one.said))
        lines = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())
        yield f'<div class="case"><h3>{escape(one.question)}</h3><dl>{lines}</dl></div>'
    yield "</div>"


def _render_changes(changes: Sequence[MetricChange]) -> Iterator[str]:
    if not changes:
        return
    yield "<h2>Beside the older measurement</h2><p>Each figure over the questions that both have it for.</p>"
    yield _table("", "Before", "Now", "Change", "Likely range", "")
    marks = {"better": "good", "worse": "bad"}
    for name, *values, verdict in change_rows(changes):
        cells = "".join(f'<td class="number">{cell}</td>' for cell in values)
        cells += f'<td class="number {marks.get(verdict, "quiet")}">{verdict}</td>'
        yield f"<tr><td>{escape(name)}</td>{cells}</tr>"
    yield "</table></div>"


def _render_stages(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    yield "<h2>Where the time goes</h2>"
    yield _table("Stage", "Usual", "One in 20 longer than")
    for row in stage_rows(judged):
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table></div>"


def _render_questions(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    yield "<details><summary>Every question</summary>"
    yield _table("Question", "Verdict", "Confidence", "It said")
    for one in judged:
        fault = describe_fault(one)
        fine = "right" if one.right else "declined" if one.refused else "no label tells"
        verdict = f'<td class="bad">{escape(fault)}</td>' if fault else f"<td>{fine}</td>"
        texts = f'<td class="text">{escape(one.question)}</td>{verdict}<td>{one.score:.0f}</td><td class="text">'
        yield f"<tr>{texts}{escape(excerpt(one.said))}</td></tr>"
    yield "</table></div></details>"


def _table(*heads: str) -> str:
    """Return the beginning of a table; two end tags close it."""
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>'
