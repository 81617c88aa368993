"""The whole result: as JSON, read again from a former run's, and as tables on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluate.errors import UnusableFile
from evaluate.figures import (
    Change,
    Figure,
    bins,
    format_change,
    format_interval,
    format_range,
    format_result,
    format_value,
    metric_name,
    shown_changes,
    shown_figures,
    stages,
    worst,
    wrong,
)
from evaluate.intervals import Bin
from evaluate.judge import JudgedQuestion, beginning

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run found. ``model`` is what wrote, ``notes`` what a reader must know, ``kept`` where the replies are."""

    profile: str
    index: str
    version: str
    model: str
    seed: int
    kept: str
    figures: Sequence[Figure]
    judged: Sequence[JudgedQuestion]
    notes: Sequence[str] = ()


def as_json(report: Report, changes: Sequence[Change]) -> dict[str, Any]:
    """``report`` as it is printed with --json; ``perQuestion`` is what a later --compare reads."""
    judged = report.judged
    return {
        "questions": len(judged),
        "failed": sum(bool(one.failed) for one in judged),
        "profile": report.profile,
        "index": report.index,
        "indexVersion": report.version,
        "model": report.model,
        "seed": report.seed,
        "metrics": {figure.metric.name: _figure(figure) for figure in report.figures},
        "reliability": [
            {"low": one.low, "high": one.high, "n": one.n, "chance": round(one.chance, DIGITS), "right": one.right}
            for one in bins(judged)
        ],
        "stages": {
            stage: {"p50Ms": round(p50, DIGITS), "p95Ms": round(p95, DIGITS)}
            for stage, (p50, p95) in stages(judged).items()
        },
        "worst": [{"wrong": wrong(one), "question": one.question} for one in worst(judged)],
        **({"comparison": {change.metric.name: _change(change) for change in changes}} if changes else {}),
        "notes": list(report.notes),
        "results": report.kept,
        "perQuestion": [{_camel(name): value for name, value in asdict(one).items()} for one in judged],
    }


def read_old(path: Path) -> tuple[dict[str, float], list[JudgedQuestion]]:
    """The values by metric of a former --json, and its questions: none where these cannot be read any more.

    Raises:
        UnusableFile: it is no such file.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        values = {
            str(name): float(figure["value"]) for name, figure in body["metrics"].items() if figure["value"] is not None
        }
    except OSError as exc:
        raise UnusableFile(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        sentence = f"{path} is not what ragctl evaluate --questions --json prints"
        raise UnusableFile(sentence) from exc
    try:
        names = {field.name: _camel(field.name) for field in fields(JudgedQuestion)}
        rows = body["perQuestion"]
        return values, [JudgedQuestion(**{name: row[key] for name, key in names.items()}) for row in rows]
    except (KeyError, TypeError):
        return values, []


def _figure(figure: Figure) -> dict[str, Any]:
    counted = {} if figure.hits is None else {"hits": figure.hits, "of": figure.of}
    values = {"value": figure.value, "low": figure.low, "high": figure.high}
    rounded = {name: None if value is None else round(value, DIGITS) for name, value in values.items()}
    return {**rounded, "n": figure.n, **counted}


def _change(change: Change) -> dict[str, Any]:
    values = {"old": change.old, "new": change.new, "difference": change.difference}
    interval = {"low": change.low, "high": change.high}
    rounded = {name: None if value is None else round(value, DIGITS) for name, value in {**values, **interval}.items()}
    return {**rounded, "n": change.n, "verdict": change.verdict}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


INDENT = (0, 0, 0, 4)


def tables(report: Report, changes: Sequence[Change]) -> Iterator[RenderableType]:
    """What people are shown, top first: figures, reliability, stages, changes, worst cases, notes."""
    from rich.console import NewLine
    from rich.padding import Padding
    from rich.text import Text

    yield Text.assemble(
        (f"{len(report.judged)} questions", "bold"),
        f" to {report.index} (profile {report.profile}, written by {report.model})",
    )
    yield NewLine()
    yield _figures(report.figures)
    if report.judged and (found := bins(report.judged)):
        yield NewLine()
        yield Text("Does the confidence mean what it says?", style="bold")
        yield _reliability(found)
    yield NewLine()
    yield Text("Where the time goes", style="bold")
    yield _stages(report)
    if changes:
        yield NewLine()
        yield Text("Beside the older measurement, over the questions that both have a figure for", style="bold")
        yield _changes(changes)
    if cases := worst(report.judged):
        yield NewLine()
        yield Text("Look at these first", style="bold")
        for number, one in enumerate(cases, start=1):
            yield Text.assemble(f"{number:2}. ", (one.question, "bold"))
            yield Padding(Text.assemble((wrong(one), "red"), f" (confidence {one.score:.0f})"), INDENT, expand=False)
            expected = [repr(one.gold)] if one.gold else []
            expected += [f"in {', '.join(one.expected)}"] if one.expected else []
            if expected:
                yield Padding(Text(f"expected {' '.join(expected)}", style="dim"), INDENT, expand=False)
            yield Padding(Text(f"it said: {beginning(one.said)}", style="dim"), INDENT, expand=False)
    if report.notes:
        yield NewLine()
        for sentence in report.notes:
            yield Text.assemble(("Note: ", "yellow"), sentence)


def _figures(figures: Sequence[Figure]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "result", "likely range", "n", "metric"):
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=True)
    for group, members in groupby(shown_figures(figures), key=lambda figure: figure.metric.group):
        table.add_row(Text(group, style="bold"))
        for figure in members:
            technical = Text(figure.metric.technical, style="dim")
            table.add_row(
                f"  {figure.metric.plain}", format_result(figure), format_interval(figure), str(figure.n), technical
            )
    return table


def _reliability(found: Sequence[Bin]) -> Table:
    from rich.table import Table

    table = Table("confidence", "answers", "right", "share right", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for one in found:
        said = f"{100 * one.low:.0f} to {100 * one.high:.0f}"
        table.add_row(said, str(one.n), str(one.right), f"{100 * one.right / one.n:.0f} %")
    return table


def _stages(report: Report) -> Table:
    from rich.table import Table

    table = Table("stage", "usual", "one in 20 longer than", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for stage, (usual, long) in sorted(stages(report.judged).items(), key=lambda item: -item[1][0]):
        table.add_row(stage, format_value(usual, "ms"), format_value(long, "ms"))
    return table


def _changes(changes: Sequence[Change]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("", "before", "now", "change", "likely range", ""):
        table.add_column(name, no_wrap=True)
    colors = {"better": "green", "worse": "red"}
    for one in shown_changes(changes):
        unit, verdict = one.metric.unit, one.verdict
        color = colors.get(verdict, "dim")
        table.add_row(
            metric_name(one.metric),
            format_value(one.old, unit),
            format_value(one.new, unit),
            format_change(one),
            format_range(one.low, one.high, unit),
            Text(verdict, style=color),
        )
    return table
