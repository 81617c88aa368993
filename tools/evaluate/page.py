"""The result as one page of HTML that needs nothing else; whatever a document or a question says is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from evaluate.figures import bins, stages, worst, wrong
from evaluate.judge import beginning
from evaluate.plots import latency_plot, range_bar, reliability_plot, score_plot
from evaluate.wording import between, change, interval, name_of, result, told, told_changes, value_of

if TYPE_CHECKING:
    from evaluate.compare import Change
    from evaluate.figures import Figure
    from evaluate.judge import JudgedQuestion
    from evaluate.record import Report

STYLE = Path(__file__).with_name("page.css")
TILES = {
    "right": "of the questions that your documents answer",
    "falseRefusals": "of the same questions",
    "falseAnswers": "of the questions that they do not answer",
    "supported": "statements, by the service's own check of what they cite",
    "p50Ms": "half of the questions wait no longer",
}
"""The figures that stand first, and what each counts."""


def page(report: Report, changes: Sequence[Change]) -> str:
    """The page: what matters first, then all figures, plots, what to look at first, and every question."""
    title = "How well it answers"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>",
        f"<h1>{title}</h1>",
        f'<p class="quiet">{len(report.judged)} questions to {escape(report.index)}, profile {escape(report.profile)}, '
        f"written by {escape(report.model)}</p>",
        *_notes(report.notes),
        *_tiles(report.figures),
        *_changes(changes),
        *_cases(worst(report.judged)),
        *_plots(report.judged),
        *_figures(report.figures),
        *_stages(report.judged),
        *_questions(report.judged),
        f'<p class="small quiet">Index {escape(report.version)}, seed {report.seed}, '
        f"replies in {escape(report.kept)}</p>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield f'<div class="notes">{"".join(f"<p>{escape(one)}</p>" for one in notes)}</div>'


def _tiles(figures: Sequence[Figure]) -> Iterator[str]:
    yield '<div class="tiles">'
    for figure in figures:
        if (counts := TILES.get(figure.metric.name)) and figure.value is not None:
            said, _, share = result(figure).partition(" (")
            yield f'<div class="tile"><h3>{escape(figure.metric.plain)}</h3>'
            yield f"<b>{said} <small>{share.rstrip(')')}</small></b>"
            yield range_bar(figure.value, figure.low, figure.high) if figure.hits is not None else ""
            low = f"; {_low(figures)} of them marked Low" if figure.metric.name == "falseAnswers" else ""
            yield f'<div class="small quiet">{escape(counts)}; likely {interval(figure)}{low}</div></div>'
    yield "</div>"


def _low(figures: Sequence[Figure]) -> int:
    """How many of the answers to what is not there were marked Low."""
    hits = {figure.metric.name: figure.hits or 0 for figure in figures}
    return hits["falseAnswers"] - hits["sureFalseAnswers"]


def _figures(figures: Sequence[Figure]) -> Iterator[str]:
    yield "<h2>All figures</h2>"
    yield '<p class="quiet">The likely range holds the true figure in 95 of 100 such measurements.</p>'
    yield _table("", "Result", "Likely range", "", "Metric", "n")
    for group, members in groupby(told(figures), key=lambda figure: figure.metric.group):
        yield f'<tr class="group"><td colspan="6">{escape(group)}</td></tr>'
        for one in members:
            metric, bar = one.metric, ""
            if one.value is not None and metric.unit in {"share", "score"}:
                bar = range_bar(one.value, one.low, one.high, width=120)
            cells = (f'<td class="number">{cell}</td>' for cell in (result(one), interval(one)))
            yield (
                f"<tr><td>{escape(metric.plain)}</td>{''.join(cells)}<td style='min-width:8rem'>{bar}</td>"
                f'<td class="technical">{escape(metric.technical)} <code>{metric.name}</code></td><td>{one.n}</td></tr>'
            )
    yield "</table></div>"


def _plots(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    answers = [(one.score / 100, one.right) for one in judged if one.answered and one.right is not None]
    times = [one.ms for one in judged if not one.failed]
    plots = []
    if answers:
        plots += [
            (
                "Does the confidence mean what it says?",
                "Each dot is a tenth of the scale, larger where it holds more answers. On the dashed line the "
                "confidence is exact; above it the service is too modest, below it too sure. Bars are likely ranges.",
                reliability_plot(bins(judged)),
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


def _cases(cases: Sequence[JudgedQuestion]) -> Iterator[str]:
    if not cases:
        return
    yield "<h2>Look at these first</h2>"
    yield '<p class="quiet">Wrong answers, the surest first; then questions that were declined.</p>'
    yield '<div class="cases">'
    for one in cases:
        rows = {"What is wrong": f'<span class="bad">{escape(wrong(one))}</span>, confidence {one.score:.0f} of 100'}
        if one.gold:
            rows["Expected"] = escape(one.gold)
        if one.expected:
            rows["Stands in"] = escape(", ".join(one.expected))
        rows["It said"] = escape(beginning(one.said))
        lines = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())
        yield f'<div class="case"><h3>{escape(one.question)}</h3><dl>{lines}</dl></div>'
    yield "</div>"


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield "<h2>Beside the older measurement</h2><p>Each figure over the questions that both have it for.</p>"
    yield _table("", "Before", "Now", "Change", "Likely range", "")
    marks = {"better": "good", "worse": "bad"}
    for one in told_changes(changes):
        unit = one.metric.unit
        values = (value_of(one.old, unit), value_of(one.new, unit), change(one), between(one.low, one.high, unit))
        cells = "".join(f'<td class="number">{cell}</td>' for cell in values)
        verdict = f'<td class="number {marks.get(one.verdict, "quiet")}">{one.verdict}</td>'
        yield f"<tr><td>{escape(name_of(one.metric))}</td>{cells}{verdict}</tr>"
    yield "</table></div>"


def _stages(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    yield "<h2>Where the time goes</h2>"
    yield _table("Stage", "Usual", "One in 20 longer than")
    for stage, (usual, long) in sorted(stages(judged).items(), key=lambda item: -item[1][0]):
        yield f"<tr><td>{escape(stage)}</td><td>{value_of(usual, 'ms')}</td><td>{value_of(long, 'ms')}</td></tr>"
    yield "</table></div>"


def _questions(judged: Sequence[JudgedQuestion]) -> Iterator[str]:
    yield "<details><summary>Every question</summary>"
    yield _table("Question", "Verdict", "Confidence", "It said")
    for one in judged:
        bad = wrong(one)
        fine = "right" if one.right else "declined" if one.refused else "no label tells"
        verdict = f'<td class="bad">{escape(bad)}</td>' if bad else f"<td>{fine}</td>"
        texts = f'<td class="text">{escape(one.question)}</td>{verdict}<td>{one.score:.0f}</td><td class="text">'
        yield f"<tr>{texts}{escape(beginning(one.said))}</td></tr>"
    yield "</table></div></details>"


def _table(*heads: str) -> str:
    """The beginning of a table; two end tags close it."""
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>'
