"""How much memory a process has held at most, as Linux tells it."""

from __future__ import annotations

import re
from pathlib import Path

PROC = Path("/proc")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_PARENT = re.compile(r"^PPid:\s+(\d+)$", re.MULTILINE)


def peak_bytes(process: int | str = "self", *, proc: Path = PROC) -> int | None:
    """The high-water mark of ``process`` (a process id) since its program began; None where nothing tells it.

    Not ``ru_maxrss``: that one begins with what the process was forked from.
    """
    found = _PEAK.search(_status(proc / str(process)))
    return int(found[1]) * 1024 if found else None


def children(parent: int, *, proc: Path = PROC) -> list[int]:
    """The ids of the processes that ``parent`` started and that still run."""
    found = ((folder, _PARENT.search(_status(folder))) for folder in proc.glob("[0-9]*"))
    return [int(folder.name) for folder, line in found if line and int(line[1]) == parent]


def _status(folder: Path) -> str:
    try:
        return (folder / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended, or this is not Linux
        return ""
