"""The bare function of the cold-start benchmark, one for each state of the lock files, and the tables of times."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench.function import LOCKS, HandlerTimes, build_bare_function, handler_table
from bench.timing import EMBEDDING, RETRIEVAL, ratio_table
from made_files import write_files


@dataclass
class Installer:
    """Notes what it installs; fails if ``broken``."""

    seen: list[str] = field(default_factory=list)
    broken: bool = False

    def __call__(self, locks: Sequence[Path], target: Path) -> None:
        self.seen.append(" ".join(lock.read_text(encoding="utf-8") for lock in locks))
        target.mkdir(parents=True)
        (target / "package.py").touch()
        if self.broken:
            raise RuntimeError("no network")


@pytest.fixture
def locks(tmp_path: Path) -> tuple[Path, Path]:
    write_files(tmp_path, {f"{name}.txt": f"{name}==1" for name in ("chroma", "query")})
    return tmp_path / "chroma.txt", tmp_path / "query.txt"


def test_it_is_installed_once_and_anew_when_a_lock_file_changes(tmp_path: Path, locks: tuple[Path, Path]) -> None:
    install, folder = Installer(), tmp_path / "bench"
    first = build_bare_function(folder, locks=locks, install=install)
    assert build_bare_function(folder, locks=locks, install=install) == first
    assert install.seen == ["chroma==1 query==1"]
    assert [(lock.name, lock.is_file()) for lock in LOCKS] == [("chroma.txt", True), ("query.txt", True)]
    assert {path.name for path in first.task.iterdir()} == {"package.py", "bare.py"}
    assert (first.handler, first.opt) == ("bare.handler", {})

    locks[1].write_text("query==2", encoding="utf-8")
    second = build_bare_function(folder, locks=locks, install=install)
    assert install.seen == ["chroma==1 query==1", "chroma==1 query==2"]
    assert second.task != first.task
    assert list(folder.iterdir()) == [second.task], "what the lock files say no more is not kept"


def test_what_was_interrupted_is_installed_again_and_the_old_removed(tmp_path: Path, locks: tuple[Path, Path]) -> None:
    install, folder = Installer(broken=True), tmp_path / "bench"
    write_files(folder, {"bare/bare.py": "of before the lock files were looked at"})
    with pytest.raises(RuntimeError):
        build_bare_function(folder, locks=locks, install=install)
    install.broken = False
    task = build_bare_function(folder, locks=locks, install=install).task
    assert len(install.seen) == 2
    assert (task / "bare.py").is_file()
    assert list(folder.iterdir()) == [task]


def test_the_table_has_percentiles_and_memory_of_each() -> None:
    times = [float(number) for number in range(1, 101)]
    rows = {"in process": HandlerTimes(times, 184_400_000), "elsewhere": HandlerTimes(times[::-1], None)}
    assert handler_table(rows).splitlines() == [
        "| handler, warm, no LLM | p50 ms | p99 ms | peak memory MB |",
        "|---|---|---|---|",
        "| in process | 50.0 | 99.0 | 184 |",
        "| elsewhere | 50.0 | 99.0 | - |",
    ]


def test_times_are_divided_by_those_of_embedding_the_question() -> None:
    embedding = [1.0] * 98 + [2.0] * 2
    retrieval = [3.0] * 98 + [8.0] * 2
    assert ratio_table({EMBEDDING: embedding, RETRIEVAL: retrieval}).splitlines()[2:] == [
        f"| {EMBEDDING} | 1.0 | 2.0 | 1.0 | 2.0 | 1.0 |",
        f"| {RETRIEVAL} | 3.0 | 8.0 | 3.0 | 8.0 | 4.0 |",
    ]
