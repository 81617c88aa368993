"""The files of a SQLite database: private to their owner, and recognised after a deletion or replacement."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database; all of them hold rows."""
_OTHERS_MAY = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH

type FileId = tuple[int, int]
"""Device and inode: another file at the same path has others."""


def file_id(path: Path) -> FileId | None:
    """Return the identity of the file at ``path``; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def find_exposed(path: Path) -> Path | None:
    """Return a file of the database at ``path`` that others than its owner may read or write.

    None where there is none, and on systems without such modes.
    """
    if os.name != "posix":
        return None
    files = (path, *_side_files(path))
    return next((file for file in files if file.is_file() and file.stat().st_mode & _OTHERS_MAY), None)


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone, whatever the umask, unless another process creates it first.

    SQLite would make it readable by all; its side files take over the mode. Side files of a database that was deleted
    are removed first: processes that still have it open share them, and must not share them with the new one.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
    with _lock_folder(path.parent):
        if path.exists():
            return
        for file in _side_files(path):
            file.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        path.chmod(0o600)


def _side_files(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _SIDE_FILES]


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from creating a store in ``folder``.

    Systems without this lock cannot delete a file that is open either.
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
