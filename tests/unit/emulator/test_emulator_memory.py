"""A process's memory high-water mark: its own, not that of what it was forked from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.rie import PROC, children, peak_bytes

STATUS = "Name:\tpython\nPid:\t{pid}\nPPid:\t{parent}\nVmPeak:\t  900000 kB\nVmHWM:\t  {peak} kB\nVmRSS:\t  10 kB\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Process 10 with the children 12 and 13, of which one has ended, and 120, a grandchild."""
    for pid, parent in ((10, 1), (12, 10), (13, 10), (120, 12)):
        (tmp_path / str(pid)).mkdir()
        text = STATUS.format(pid=pid, parent=parent, peak=pid * 1000)
        # A process that has ended but was not waited for has no memory any more.
        text = text.partition("VmPeak")[0] if pid == 13 else text
        (tmp_path / str(pid) / "status").write_text(text, encoding="utf-8")
    (tmp_path / "14").mkdir()
    (tmp_path / "sys").mkdir()
    return tmp_path


def test_the_peak_is_in_bytes_and_unknown_where_nothing_tells_it(proc: Path) -> None:
    assert peak_bytes(12, proc=proc) == 12_000 * 1024
    assert [peak_bytes(process, proc=proc) for process in (13, 14, 99)] == [None] * 3
    assert peak_bytes(proc=proc / "nowhere") is None


def test_children_are_those_that_a_process_started_itself(proc: Path) -> None:
    assert sorted(children(10, proc=proc)) == [12, 13]
    assert children(12, proc=proc) == [120]
    assert children(120, proc=proc) == []


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux has /proc")
def test_a_fresh_process_has_a_peak_of_its_own() -> None:
    # Given a big process, this one
    ballast = b"x" * 200_000_000
    # When it starts another one
    script = "from emulator.rie import peak_bytes; held = b'x' * 60_000_000; del held; print(peak_bytes())"
    told = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    # Then its peak is what it held itself, also after it gave it back
    assert 60_000_000 < told < 150_000_000 < len(ballast)
