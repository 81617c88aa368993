"""The bare function of the cold-start benchmark, one for each state of the lock files, and the table of warm calls."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from bench.function import LOCKS, HandlerTimes, build_bare_function, handler_table


class Installer:
    """Notes what it installs; fails if ``broken``."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.broken = False

    def __call__(self, locks: Sequence[Path], target: Path) -> None:
        self.seen.append(" ".join(lock.read_text(encoding="utf-8") for lock in locks))
        target.mkdir(parents=True)
        (target / "package.py").touch()
        if self.broken:
            raise RuntimeError("no network")


@pytest.fixture
def locks(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "chroma.txt", tmp_path / "query.txt")
    for path in paths:
        path.write_text(f"{path.stem}==1", encoding="utf-8")
    return paths


def test_it_is_installed_once_and_anew_when_a_lock_file_changes(tmp_path: Path, locks: tuple[Path, Path]) -> None:
    install, folder = Installer(), tmp_path / "bench"
    first = build_bare_function(folder, locks=locks, install=install)
    assert build_bare_function(folder, locks=locks, install=install) == first
    assert install.seen == ["chroma==1 query==1"]
    assert {path.name for path in first.task.iterdir()} == {"package.py", "bare.py"}
    assert (first.handler, first.opt) == ("bare.handler", {})

    locks[1].write_text("query==2", encoding="utf-8")
    second = build_bare_function(folder, locks=locks, install=install)
    assert install.seen == ["chroma==1 query==1", "chroma==1 query==2"]
    assert second.task != first.task
    assert list(folder.iterdir()) == [second.task], "what the lock files say no more is not kept"


def test_what_was_interrupted_is_installed_again(tmp_path: Path, locks: tuple[Path, Path]) -> None:
    install, folder = Installer(), tmp_path / "bench"
    install.broken = True
    with pytest.raises(RuntimeError):
        build_bare_function(folder, locks=locks, install=install)
    install.broken = False
    task = build_bare_function(folder, locks=locks, install=install).task
    assert len(install.seen) == 2
    assert (task / "bare.py").is_file()


def test_an_installation_of_before_the_lock_files_were_looked_at_is_removed(
    tmp_path: Path, locks: tuple[Path, Path]
) -> None:
    (tmp_path / "bench" / "bare").mkdir(parents=True)
    (tmp_path / "bench" / "bare" / "bare.py").touch()
    task = build_bare_function(tmp_path / "bench", locks=locks, install=Installer()).task
    assert list((tmp_path / "bench").iterdir()) == [task]


def test_the_lock_files_are_those_of_the_layer() -> None:
    assert [lock.name for lock in LOCKS] == ["chroma.txt", "query.txt"]
    assert all(lock.is_file() for lock in LOCKS)


def test_the_table_has_percentiles_and_memory_of_each() -> None:
    times = [float(number) for number in range(1, 101)]
    rows = {"in process": HandlerTimes(times, 184_400_000), "elsewhere": HandlerTimes(times[::-1], None)}
    assert handler_table(rows).splitlines() == [
        "| handler, warm, no LLM | p50 ms | p99 ms | peak memory MB |",
        "|---|---|---|---|",
        "| in process | 50.0 | 99.0 | 184 |",
        "| elsewhere | 50.0 | 99.0 | - |",
    ]
