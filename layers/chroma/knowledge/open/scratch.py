"""Private temporary folders; folders of killed processes are removed later.

Each process locks its folder (flock) while it uses it. The kernel releases the lock when the process and its forked
children have ended, even killed ones; a restored snapshot of a machine keeps its locks. A folder whose lock is free is
therefore unused, and is removed when the next folder is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from knowledge.model.errors import IndexUnavailable

SCRATCH_PREFIX = "index-"
SCRATCH_SUFFIX = ".scratch"
"""No other program names folders like this."""


class Scratch:
    """A new empty folder that only this user can read; removed at the end of the process."""

    def __init__(self, root: Path | None = None) -> None:
        """Make the folder under ``root`` (default: the system's temporary folder), and remove unused ones there.

        Raises:
            OSError: the folder cannot be made.
        """
        place = Path(tempfile.gettempdir()) if root is None else root
        sweep(place)
        self.path, self._lock = _make_locked_folder(place)
        # Runs at close(), or at the end of the process, whichever comes first, and once.
        self._remove = weakref.finalize(self, _remove, self.path, self._lock, os.getpid())

    def close(self) -> None:
        """Remove the folder. Closing twice is allowed."""
        self._remove()


def make_scratch(root: Path | None = None) -> Scratch:
    """Make a folder to open an index in; IndexUnavailable: there is no place for it."""
    try:
        return Scratch(root)
    except OSError as exc:
        raise IndexUnavailable(f"No place to open the index in: {exc}") from exc


def sweep(root: Path) -> None:
    """Remove this user's folders under ``root`` that no living process uses."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(SCRATCH_PREFIX) and entry.name.endswith(SCRATCH_SUFFIX):
                _remove_unless_locked(entry)


def _remove_unless_locked(entry: os.DirEntry[str]) -> None:
    # Where locks do not work (some network file systems) every folder counts as used.
    with suppress(OSError):
        if entry.stat(follow_symlinks=False).st_uid == os.getuid():
            descriptor = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _make_locked_folder(root: Path) -> tuple[Path, int]:
    """Make a folder and return it with the descriptor that holds its lock."""
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


def _remove(path: Path, lock: int, owner: int) -> None:
    # A forked child inherits the finalizer, but not the folder: its parent is still using it.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
