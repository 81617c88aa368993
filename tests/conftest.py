"""What holds for every test."""

import os
from collections.abc import Generator

import pytest
from faults.drawing import NIGHTLY, SEED
from faults.rows import row_of
from faults.tally import lines, table, taken
from hypothesis import settings

# No deadline: on a busy machine the clock says nothing about the code. Everybody's runs try the same examples, so that
# none fails by chance; `HYPOTHESIS_PROFILE=explore make test` draws others.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", action="store_true", help="run what stands in the table of faults, and print it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--faults"):
        kept = [item for item in items if row_of(item.nodeid) or (NIGHTLY and item.get_closest_marker("sampled"))]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.extend(taken())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with the table of faults, or what was counted for it, and with the rates that tests/evaluation printed.

    The rates of failed tests stand with the failure.
    """
    outcomes = ("passed", "failed", "xfailed", "xpassed")
    calls = [one for outcome in outcomes for one in terminalreporter.getreports(outcome)]
    reports = [one for one in calls if isinstance(one, pytest.TestReport) and one.when == "call"]
    counted = list(table(reports) if terminalreporter.config.getoption("--faults") else lines(reports))
    if counted:
        terminalreporter.section("faults")
        terminalreporter.write_line("\n".join([*counted, f"Drawn with SEED={SEED}"]))
    passed = [report for report in terminalreporter.getreports("passed") if "tests/evaluation/" in report.nodeid]
    if printed := "".join(report.capstdout for report in passed):
        terminalreporter.section("evaluation")
        terminalreporter.write(printed)
