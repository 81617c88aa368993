"""The tally adds up what tests say, and says it once."""

from __future__ import annotations

import pytest
from attacks.tally import PROPERTY, lines, taken, tally


def report(*properties: tuple[str, object]) -> pytest.TestReport:
    return pytest.TestReport("a::b", ("a", 1, "b"), {}, "passed", None, "call", user_properties=properties)


def test_cases_and_failures_add_up_by_kind() -> None:
    first = report((PROPERTY, ("naughty strings", 1200, 0)), ("other", "x"))
    from_a_worker = report((PROPERTY, ["naughty strings", 5, 2]), (PROPERTY, ["extraction", 3, 0]))
    assert list(lines([first, from_a_worker])) == [
        "extraction: 3 cases, 0 got through",
        "naughty strings: 1,205 cases, 2 got through",
    ]


def test_what_was_said_is_taken_once_and_more_failures_than_cases_are_no_count() -> None:
    tally("self test", cases=2, failures=1)
    assert taken() == ((PROPERTY, ("self test", 2, 1)),)
    assert taken() == ()
    with pytest.raises(AssertionError, match="3 of 2"):
        tally("self test", cases=2, failures=3)
