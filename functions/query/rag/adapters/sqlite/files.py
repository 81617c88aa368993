"""The files of a SQLite store: for their owner alone, and known again when somebody deletes or replaces them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BESIDE = ("-wal", "-shm", "-journal")
"""Endings of what SQLite keeps beside a database: all of it holds rows."""
_OTHERS_MAY = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH

type Identity = tuple[int, int]
"""Device and number of a file: another file at the same path has others."""


def identity(path: Path) -> Identity | None:
    """Which file is at ``path``; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def exposed(path: Path) -> Path | None:
    """A file of the database at ``path`` that others than its owner may read or write; None where there is none.

    Where files have no such modes there is nothing to say of them.
    """
    if os.name != "posix":
        return None
    files = (path, *_beside(path))
    return next((file for file in files if file.is_file() and file.stat().st_mode & _OTHERS_MAY), None)


def make_private(path: Path) -> None:
    """An empty file at ``path`` for its owner alone, whatever the umask, unless another process makes it first.

    SQLite would make it readable by all; the files that it makes beside it take over the mode. Those of a database that
    was deleted go first: processes that have it open still share them, and must not share them with the new one.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
    with _alone_in(path.parent):
        if path.exists():
            return
        for file in _beside(path):
            file.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        path.chmod(0o600)


def _beside(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _BESIDE]


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """In this block no other process makes a store in ``folder``.

    Where there is no such lock, what is open cannot be deleted either.
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
