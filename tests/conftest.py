"""What holds for every test."""

from __future__ import annotations

import os

import pytest
from attacks.tally import lines
from hypothesis import settings

# No deadline: on a busy machine the clock says nothing about the code. Everybody's runs try the same examples, so that
# none fails by chance; `HYPOTHESIS_PROFILE=explore make test` draws others.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with what tests/attacks counted, and with the rates that tests/evaluation printed.

    The rates of failed tests stand with the failure.
    """
    outcomes = ("passed", "failed", "xfailed", "xpassed")
    calls = [one for outcome in outcomes for one in terminalreporter.getreports(outcome)]
    if counted := list(lines(one for one in calls if isinstance(one, pytest.TestReport) and one.when == "call")):
        terminalreporter.section("attacks")
        terminalreporter.write_line("\n".join(counted))
    passed = [report for report in terminalreporter.getreports("passed") if "tests/evaluation/" in report.nodeid]
    if printed := "".join(report.capstdout for report in passed):
        terminalreporter.section("evaluation")
        terminalreporter.write(printed)
