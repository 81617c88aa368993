"""How many attacks were tried, and how many got through: a line for each kind at the end of a run.

A test that tries many cases says so once, before it asserts anything:

    tally("planted instructions", cases=len(cases), failures=len(through))
    assert not through

The counts go with the test's report, so that they arrive from pytest-xdist's workers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

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
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, list | tuple):
                kind, cases, failures = value
                before = sums.get(kind, (0, 0))
                sums[kind] = (before[0] + cases, before[1] + failures)
    for kind, (cases, failures) in sorted(sums.items()):
        yield f"{kind}: {cases:,} cases, {failures} got through"
