"""Private folders that go with the process that made them, however it ends.

Each process holds a lock (flock) on its folder itself for as long as it uses it. The kernel gives the lock back when
the last process that has it ends, a killed one too; a forked child has it as well, and a restored snapshot of a
machine has its locks. So a folder whose lock is free is left over, and is removed when the next one is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SCRATCH_PREFIX = "index-"
SCRATCH_SUFFIX = ".scratch"
"""Nobody else names folders so."""


class Scratch:
    """A fresh folder of this process, empty, that only this user can read."""

    def __init__(self, root: Path | None = None) -> None:
        """Make one under ``root`` (default: the system's temporary folder), and remove what is left over there.

        Raises:
            OSError: there is no place for it.
        """
        place = Path(tempfile.gettempdir()) if root is None else root
        sweep(place)
        self.path, self._lock = _made(place)
        # Runs at close(), or at the end of the process, whichever comes first, and once.
        self._end = weakref.finalize(self, _end, self.path, self._lock, os.getpid())

    def close(self) -> None:
        """Remove the folder. Closing twice is allowed."""
        self._end()


def sweep(root: Path) -> None:
    """Remove this user's folders under ``root`` that no living process holds."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(SCRATCH_PREFIX) and entry.name.endswith(SCRATCH_SUFFIX):
                _remove_unless_held(entry)


def _remove_unless_held(entry: os.DirEntry[str]) -> None:
    # Where locks do not work (some network file systems) every folder counts as held.
    with suppress(OSError):
        if entry.stat(follow_symlinks=False).st_uid == os.getuid():
            with _opened(entry.path) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)


def _made(root: Path) -> tuple[Path, int]:
    """A new folder and the descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, suffix=SCRATCH_SUFFIX, dir=root))
        # A sweep of another process may be quicker at each step: it has removed the folder then, and the next is made.
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # where there are no locks, nobody sweeps
            fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            if path.is_dir():
                return path, lock
        except OSError:
            os.close(lock)  # or no sweep would remove the folder while this process lives
            raise
        os.close(lock)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _end(path: Path, lock: int, owner: int) -> None:
    # A forked child inherits the finalizer, but not the folder: its parent is still using it.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
