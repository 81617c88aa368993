"""The whole result: as JSON, parsed from an older run's JSON, and as tables on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import NewLine, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evaluate.figures import (
    Figure,
    MetricChange,
    change_rows,
    describe_fault,
    format_range,
    format_result,
    reliability_bins,
    stage_rows,
    stage_times,
    visible_figures,
    worst_results,
)
from evaluate.judge import JudgedQuestion, excerpt
from evaluate.question_files import UnusableFile

DIGITS = 4
INDENT = (0, 0, 0, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a run. ``model`` wrote the answers; the replies are in the file ``results_path``."""

    profile: str
    index: str
    version: str
    model: str
    seed: int
    results_path: str
    figures: Sequence[Figure]
    judged: Sequence[JudgedQuestion]
    notes: Sequence[str] = ()


def report_fields(report: Report, changes: Sequence[MetricChange]) -> dict[str, Any]:
    """Return the output of --json; a later --compare reads ``perQuestion``."""
    judged = report.judged
    return {
        "questions": len(judged),
        "failed": sum(bool(one.failed) for one in judged),
        "profile": report.profile,
        "index": report.index,
        "indexVersion": report.version,
        "model": report.model,
        "seed": report.seed,
        "metrics": {figure.metric.name: _figure_fields(figure) for figure in report.figures},
        "reliability": [
            {"low": one.low, "high": one.high, "n": one.n, "chance": round(one.chance, DIGITS), "right": one.right}
            for one in reliability_bins(judged)
        ],
        "stages": {stage: _rounded(p50Ms=median, p95Ms=long) for stage, median, long in stage_times(judged)},
        "worst": [{"wrong": describe_fault(one), "question": one.question} for one in worst_results(judged)],
        **({"comparison": {change.metric.name: _change_fields(change) for change in changes}} if changes else {}),
        "notes": list(report.notes),
        "results": report.results_path,
        "perQuestion": [{_camel_case(name): value for name, value in asdict(one).items()} for one in judged],
    }


def read_old(path: Path) -> tuple[dict[str, float], list[JudgedQuestion]]:
    """Return an older run's values by metric and its questions; no questions if their format has changed since.

    Raises:
        UnusableFile: the file is not the output of --json.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        values = {
            str(name): float(figure["value"]) for name, figure in body["metrics"].items() if figure["value"] is not None
        }
    except OSError as exc:
        raise UnusableFile(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise UnusableFile(f"{path} is not what ragctl evaluate --questions --json prints") from exc
    try:
        names = {field.name: _camel_case(field.name) for field in fields(JudgedQuestion)}
        rows = body["perQuestion"]
        return values, [JudgedQuestion(**{name: row[key] for name, key in names.items()}) for row in rows]
    except (KeyError, TypeError):
        return values, []


def _figure_fields(figure: Figure) -> dict[str, Any]:
    counts = {} if figure.hits is None else {"hits": figure.hits, "of": figure.of}
    return {**_rounded(value=figure.value, low=figure.low, high=figure.high), "n": figure.n, **counts}


def _change_fields(change: MetricChange) -> dict[str, Any]:
    values = _rounded(old=change.old, new=change.new, difference=change.difference, low=change.low, high=change.high)
    return {**values, "n": change.n, "verdict": change.verdict}


def _rounded(**values: float | None) -> dict[str, float | None]:
    return {name: None if value is None else round(value, DIGITS) for name, value in values.items()}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def tables(report: Report, changes: Sequence[MetricChange]) -> Iterator[RenderableType]:
    """Yield the result for people: figures, reliability, stages, changes, worst results, notes."""
    yield Text.assemble(
        (f"{len(report.judged)} questions", "bold"),
        f" to {report.index} (profile {report.profile}, written by {report.model})",
    )
    yield NewLine()
    yield _figure_table(report.figures)
    bins = [
        (f"{100 * one.low:.0f} to {100 * one.high:.0f}", f"{one.n}", f"{one.right}", f"{100 * one.right / one.n:.0f} %")
        for one in reliability_bins(report.judged)
    ]
    if bins:
        yield from _section("Does the confidence mean what it says?")
        yield _plain_table(("confidence", "answers", "right", "share right"), bins)
    yield from _section("Where the time goes")
    yield _plain_table(("stage", "usual", "one in 20 longer than"), stage_rows(report.judged))
    if changes:
        yield from _section("Beside the older measurement, over the questions that both have a figure for")
        yield _change_table(changes)
    if worst := worst_results(report.judged):
        yield from _section("Look at these first")
        for number, one in enumerate(worst, start=1):
            yield from _describe_result(number, one)
    if report.notes:
        yield NewLine()
        for sentence in report.notes:
            yield Text.assemble(("Note: ", "yellow"), sentence)


def _section(title: str) -> Iterator[RenderableType]:
    yield NewLine()
    yield Text(title, style="bold")


def _describe_result(number: int, one: JudgedQuestion) -> Iterator[RenderableType]:
    yield Text.assemble(f"{number:2}. ", (one.question, "bold"))
    lines = [Text.assemble((describe_fault(one), "red"), f" (confidence {one.score:.0f})")]
    expected = [repr(one.gold)] if one.gold else []
    expected += [f"in {', '.join(one.expected)}"] if one.expected else []
    if expected:
        lines.append(Text(f"expected {' '.join(expected)}", style="dim"))
    lines.append(Text(f"it said: {excerpt(one.said)}", style="dim"))
    yield from (Padding(line, INDENT, expand=False) for line in lines)


def _plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(*heads, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    return table


def _figure_table(figures: Sequence[Figure]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "result", "likely range", "n", "metric"):
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=True)
    for group, members in groupby(visible_figures(figures), key=lambda figure: figure.metric.group):
        table.add_row(Text(group, style="bold"))
        for one in members:
            technical = Text(one.metric.technical, style="dim")
            likely = format_range(one.low, one.high, one.metric.unit)
            table.add_row(f"  {one.metric.plain}", format_result(one), likely, str(one.n), technical)
    return table


def _change_table(changes: Sequence[MetricChange]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("", "before", "now", "change", "likely range", ""):
        table.add_column(name, no_wrap=True)
    colors = {"better": "green", "worse": "red"}
    for *cells, verdict in change_rows(changes):
        table.add_row(*cells, Text(verdict, style=colors.get(verdict, "dim")))
    return table
