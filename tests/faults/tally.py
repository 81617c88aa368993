"""How many faults and attacks were tried, and how many got through: lines and a table at the end of a run.

A test that tries many cases says so once, before it asserts anything:

    tally("planted instructions", cases=len(cases), failures=len(through))
    assert not through

The counts go with the test's report, so that they arrive from pytest-xdist's workers too. A test that says nothing is
one case of its row in the table.
"""

from collections.abc import Iterable, Iterator

import pytest
from faults.rows import ROWS, row_of

PROPERTY = "attacks"
"""Name of the reports' user property; its value is a kind, its cases and its failures."""

_said: list[tuple[str, int, int]] = []


def tally(kind: str, cases: int, failures: int) -> None:
    """Add ``cases`` of ``kind``, of which ``failures`` got through (0..cases), to what the run says at its end."""
    assert 0 <= failures <= cases, f"{kind}: {failures} of {cases}"
    _said.append((kind, cases, failures))


def taken() -> tuple[tuple[str, tuple[str, int, int]], ...]:
    """What was said since this was last asked, as properties of a report."""
    said, _said[:] = tuple(_said), ()
    return tuple((PROPERTY, one) for one in said)


def lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """One line a kind of all that ``reports`` bring, in the order of the kinds' names."""
    sums: dict[str, tuple[int, int]] = {}
    for report in reports:
        for kind, cases, failures in _counts(report):
            before = sums.get(kind, (0, 0))
            sums[kind] = (before[0] + cases, before[1] + failures)
    for kind, (cases, failures) in sorted(sums.items()):
        yield f"{kind}: {cases:,} cases, {failures} got through"


def table(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """The table of faults in Markdown: of each row its cases, and how many of them failed."""
    cases, failures = dict.fromkeys(ROWS, 0), dict.fromkeys(ROWS, 0)
    for report in reports:
        if (row := row_of(report.nodeid)) is None:
            continue
        counts = _counts(report)
        got_through = sum(count[2] for count in counts)
        cases[row] += sum(count[1] for count in counts) or 1
        failures[row] += got_through or int(report.failed)
    yield "| what happens | cases | failures |"
    yield "|---|---|---|"
    for row, tried in cases.items():
        yield f"| {row} | {f'{tried:,}' if tried else 'not tried'} | {failures[row] if tried else ''} |"


def _counts(report: pytest.TestReport) -> list[tuple[str, int, int]]:
    values = (value for name, value in report.user_properties if name == PROPERTY)
    return [(str(value[0]), int(value[1]), int(value[2])) for value in values if isinstance(value, list | tuple)]
