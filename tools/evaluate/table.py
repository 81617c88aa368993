"""The result as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from evaluate.figures import bins, stages, worst, wrong
from evaluate.judge import beginning
from evaluate.wording import between, change, interval, name_of, result, told, told_changes, value_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from evaluate.compare import Change
    from evaluate.figures import Figure
    from evaluate.intervals import Bin
    from evaluate.judge import JudgedQuestion
    from evaluate.record import Report

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
            if expected := _expected(one):
                yield Padding(Text(f"expected {expected}", style="dim"), INDENT, expand=False)
            yield Padding(Text(f"it said: {beginning(one.said)}", style="dim"), INDENT, expand=False)
    if report.notes:
        yield NewLine()
        for sentence in report.notes:
            yield Text.assemble(("Note: ", "yellow"), sentence)


def _expected(one: JudgedQuestion) -> str:
    parts = [repr(one.gold) if one.gold else "", f"in {', '.join(one.expected)}" if one.expected else ""]
    return " ".join(part for part in parts if part)


def _figures(figures: Sequence[Figure]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "result", "likely range", "n", "metric"):
        table.add_column(name, justify="right" if name == "n" else "left", no_wrap=True)
    for group, members in groupby(told(figures), key=lambda figure: figure.metric.group):
        table.add_row(Text(group, style="bold"))
        for figure in members:
            technical = Text(figure.metric.technical, style="dim")
            table.add_row(f"  {figure.metric.plain}", result(figure), interval(figure), str(figure.n), technical)
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
        table.add_row(stage, value_of(usual, "ms"), value_of(long, "ms"))
    return table


def _changes(changes: Sequence[Change]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("", "before", "now", "change", "likely range", ""):
        table.add_column(name, no_wrap=True)
    colors = {"better": "green", "worse": "red"}
    for one in told_changes(changes):
        unit, verdict = one.metric.unit, one.verdict
        color = colors.get(verdict, "dim")
        table.add_row(
            name_of(one.metric),
            value_of(one.old, unit),
            value_of(one.new, unit),
            change(one),
            between(one.low, one.high, unit),
            Text(verdict, style=color),
        )
    return table
