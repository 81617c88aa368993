"""Scratch folders: those of killed processes go, those of living ones stay."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from knowledge.open.scratch import Scratch, sweep

TRIES = 100

HOLDER = """
import os, sys
from pathlib import Path
from knowledge.open.scratch import Scratch
scratch = Scratch(Path(sys.argv[1]))
(scratch.path / "chroma.sqlite3").write_text("x")
child = os.fork() if "fork" in sys.argv else -1
if child == 0:
    os.close(1)
    sys.stdin.read()
    os._exit(0)
print(scratch.path, child, flush=True)
sys.stdin.read()
"""


def holder(root: Path, *more: str) -> tuple[subprocess.Popen[str], Path, int]:
    """A process that holds a scratch folder until its stdin ends, the folder, and its child if it has one."""
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root), *more],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert process.stdout is not None
    folder, child = process.stdout.readline().split()
    return process, Path(folder), int(child)


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    killed, left, _ = holder(tmp_path)
    living, held, _ = holder(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "chroma.sqlite3").exists()

    mine = Scratch(tmp_path)

    assert (left.exists(), held.exists(), mine.path.exists()) == (False, True, True)
    sweep(tmp_path)
    assert (held / "chroma.sqlite3").exists()
    living.communicate("")
    assert not held.exists()
    mine.close()
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_sweeps_at_once_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp
    made: list[str] = []

    def swept_at_first(*args: Any, **kwargs: Any) -> str:
        made.append(make(*args, **kwargs))
        if len(made) == 1:
            sweep(tmp_path)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_first)
    mine = Scratch(tmp_path)
    assert [str(mine.path)] == made[1:]
    assert mine.path.is_dir()
    mine.close()


def test_a_forked_child_holds_the_folder_of_its_killed_parent(tmp_path: Path) -> None:
    parent, held, _ = holder(tmp_path, "fork")
    assert parent.stdin is not None
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    sweep(tmp_path)
    assert held.exists()

    parent.communicate("")  # the child ends when its stdin does
    for _ in range(TRIES):
        sweep(tmp_path)
        if not held.exists():
            return
        time.sleep(0.1)
    pytest.fail("the folder of a dead family is still held")


def test_nobody_else_s_folder_is_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for name in ("index-files", "index-abc", "other.scratch"):
        (tmp_path / name).mkdir()
    outside.mkdir()
    (outside / "kept").touch()
    (tmp_path / "index-link.scratch").symlink_to(outside, target_is_directory=True)
    (tmp_path / "index-file.scratch").touch()
    before = sorted(tmp_path.rglob("*"))

    sweep(tmp_path)
    sweep(tmp_path / "missing")

    assert sorted(tmp_path.rglob("*")) == before
