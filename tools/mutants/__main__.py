"""Shows which tests notice a change of the product's code; CONTRIBUTING.md says how to use it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer
from coverage import CoverageData

from mutants.changes import Mutant, find_mutants

LIBRARIES = ("numpy", "pydantic", "hypothesis", "markdown_it", "aws_lambda_powertools", "chromadb", "onnxruntime")
OPTIONS = ("-q", "-pno:cacheprovider", "-pno:xdist", "-pno:cov", "-Wignore", "-mnot build and not slow")
RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
commands = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
TOO_SLOW_S, LIMIT_S, NEAREST = 0.6, 120.0, 100


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Record:
    """A plugin of pytest: which tests failed, and the seconds of each that ran."""

    failed: set[str] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of a test."""
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "call":
            self.seconds[report.nodeid] = report.duration


def run(tests: Collection[str], *options: str, limit_s: float = LIMIT_S) -> Record:
    """Run ``tests`` in a fork, which has the large libraries already; all failed if it ends late, or none was run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "record.json")
        if (child := os.fork()) == 0:
            os.setsid()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            record, code = Record(), -1
            try:
                code = int(pytest.main([*OPTIONS, *options, *tests], plugins=[record]))
            finally:
                out.write_text(json.dumps([code, sorted(record.failed), record.seconds]))
                os._exit(0)
        ends = time.monotonic() + limit_s
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > ends:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.02)
        code, failed, seconds = json.loads(out.read_text()) if out.exists() else (None, [], {})
    if code in (-1, pytest.ExitCode.INTERNAL_ERROR):
        raise RuntimeError("pytest itself failed")
    return Record(set(failed if code in RAN else tests), seconds)


def run_changed(module: str, mutant: Mutant, tests: Collection[str], *options: str) -> set[str]:
    """Return which of ``tests`` fail with the mutant in the place of ``module``."""
    before = Path(module).read_text(encoding="utf-8")
    Path(module).write_text(mutant.source, encoding="utf-8")
    try:
        return run(tests, *options).failed if tests else set()
    finally:
        Path(module).write_text(before, encoding="utf-8")


def read_reach(data: CoverageData, module: str, only: str) -> dict[int, set[str]]:
    """Return the tests that run each line of ``module``, of those whose ids match ``only``."""
    paths = [path for path in data.measured_files() if path.endswith(f"/{module}")]
    lines = data.contexts_by_lineno(paths[0]) if paths else {}
    return {
        n: {name.rpartition("|")[0] for name in names if re.search(only, name)} - {""} for n, names in lines.items()
    }


def union(reach: dict[int, set[str]], mutant: Mutant) -> set[str]:
    """Return the tests that run a line of the mutant."""
    return set().union(*(reach.get(line, set()) for line in range(mutant.first, mutant.last + 1)))


@commands.command("matrix")
def print_matrix(module: str, tests: str = "^tests/", most: int = 40, whole: bool = False, without: str = "") -> None:
    """Print which of MOST mutants of MODULE live, and which TESTS, but those of WITHOUT, kill nothing alone."""
    reach = read_reach(read_data(), module, tests)
    everyone = {test for test in set().union(*reach.values()) if not without or not re.search(without, test)}
    first = run(everyone, limit_s=900)
    everyone = {test for test, s in first.seconds.items() if s <= TOO_SLOW_S} - first.failed
    mutants, kills = list(find_mutants(Path(module).read_text(encoding="utf-8"))), []
    random.Random(7).shuffle(mutants)  # noqa: S311 - a seeded choice
    for mutant in mutants[:most]:
        kills.append(run_changed(module, mutant, everyone if whole else union(reach, mutant) & everyone))
        if not kills[-1]:
            print(f"lives: {module}:{mutant.first} {mutant.change}", flush=True)
    print(f"{sum(map(bool, kills))} of {len(kills)} mutants killed by {len(everyone)} tests")
    own = {test for test in everyone if f"test_{Path(module).stem}" in test} or everyone
    print("These kill all of them:", *(kept := choose_tests(kills, everyone, own)), sep="\n  ")
    print("Of the module's own these kill nothing more:", *sorted(own - set(kept)), sep="\n  ")


def choose_tests(kills: list[set[str]], everyone: set[str], own: set[str]) -> list[str]:
    """Return few tests that kill as much: each time the one that kills most of what is left, ``own`` first."""
    left, kept = [failed for failed in kills if failed], list[str]()
    while left:
        kept.append(max(sorted(everyone), key=lambda test: (sum(test in failed for failed in left), test in own)))
        left = [failed for failed in left if kept[-1] not in failed]
    return kept


@commands.command("sample")
def print_sample(folders: list[str], tests: str = "^tests/", number: int = 300, seed: int = 7) -> None:
    """Print which of NUMBER mutants, drawn from all modules below FOLDERS, no test notices."""
    data = read_data()
    contexts = (names for path in data.measured_files() for names in data.contexts_by_lineno(path).values())
    sizes = Counter(name.rpartition("|")[0] for names in contexts for name in names)  # by test: the lines that it runs
    modules = sorted(str(path) for folder in folders for path in Path(folder).rglob("*.py"))
    mutants = [(name, mutant) for name in modules for mutant in find_mutants(Path(name).read_text(encoding="utf-8"))]
    killed = 0
    for module, mutant in random.Random(seed).sample(mutants, number):  # noqa: S311 - a seeded choice
        reached = union(read_reach(data, module, tests), mutant)
        ranks = {test: (f"test_{Path(module).stem}" not in test, sizes[test], test) for test in reached}
        nearest = sorted(reached, key=ranks.__getitem__)[:NEAREST]
        killed += (dies := bool(run_changed(module, mutant, nearest, "-x")))
        print("dies: " if dies else "lives:", f"{module}:{mutant.first} {mutant.change}", flush=True)
    print(f"{killed} of {number} mutants killed, drawn from {len(mutants)} by seed {seed}")


def read_data() -> CoverageData:
    """Read ``.coverage``, and import what the forks share."""
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", OPENBLAS_NUM_THREADS="1")
    for library in LIBRARIES:
        __import__(library)
    data = CoverageData()
    data.read()
    if not any(data.measured_contexts()):
        raise SystemExit("No test is named in .coverage: run pytest --cov --cov-context=test first")
    return data


if __name__ == "__main__":
    commands()
