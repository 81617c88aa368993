"""The tally adds up what tests say, and says it once."""

from pathlib import Path

import pytest
from faults.rows import ROWS
from faults.tally import PROPERTY, lines, table, taken, tally

TESTS = Path(__file__).parents[1]


def report(*properties: tuple[str, object], nodeid: str = "a::b", failed: bool = False) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid, ("a", 1, "b"), {}, "failed" if failed else "passed", None, "call", user_properties=properties
    )


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


def test_the_table_adds_up_by_row_and_says_what_was_not_tried() -> None:
    kills, planted = f"tests/{ROWS['an ingest is killed'][0]}", "tests/attacks/test_planted.py::test_b[x]"
    told = list(
        table(
            [
                report((PROPERTY, ("kills", 30, 1)), nodeid=kills, failed=True),
                report(nodeid=kills),
                report(nodeid=planted, failed=True),
                report(nodeid="tests/unit/test_other.py::test_c", failed=True),
            ]
        )
    )
    assert len(told) == 2 + len(ROWS) == 23
    assert "| an ingest is killed | 31 | 1 |" in told
    assert "| instructions in documents | 1 | 1 |" in told
    assert "| an index is damaged | not tried |  |" in told


@pytest.mark.parametrize("path", sorted({path for paths in ROWS.values() for path in paths}))
def test_each_row_names_tests_that_there_are(path: str) -> None:
    file, _, test = path.partition("::")
    source = (TESTS / file).read_text(encoding="utf-8")
    assert f"def {test or 'test_'}" in source
