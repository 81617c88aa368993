"""Durable writing of an index: flushing to the disk, one writer at a time, and errors of a full or failing disk."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from knowledge.model.errors import IndexLocked, IndexNotWritten, KnowledgeError

LOCK_NAME = ".lock"

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_WORDS = "disk is full"
"""SQLite's message; Chroma passes on the words only."""
_LITTLE_BYTES = 1 << 24
"""With less than this free a failed write is taken for a full disk: for some failures Chroma gives no reason."""


def flush(path: Path) -> None:
    """Flush a file's content, or the names in a folder, to the disk.

    Raises:
        OSError: it could not be done; some file systems cannot flush a folder.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_names(folder: Path) -> None:
    """Flush the names in ``folder`` to the disk, where its file system can."""
    with suppress(OSError):
        flush(folder)


def make_folder(path: Path) -> None:
    """Make the folder ``path`` and those above it, if missing, and flush the names of new ones to the disk."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in new:
        flush_names(folder.parent)


@contextmanager
def writer_lock(target: Path) -> Iterator[None]:
    """Be the only writer of the index in the folder ``target``, and flush its manifest to the disk.

    Raises:
        IndexLocked: another process is writing it.
    """
    lock = FileLock(target / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout as exc:
        raise IndexLocked(f"Another process is writing the index in {str(target)!r} ({LOCK_NAME} is held)") from exc
    try:
        # A killed writer may have put its manifest in place and not flushed it. What the manifest before that names
        # must not be removed while a cut of the power could bring that one back.
        flush_names(target)
        yield
    finally:
        lock.release()


@contextmanager
def write_errors(target: Path) -> Iterator[None]:
    """Translate the errors of a block that writes files which the manifest in ``target`` does not name yet.

    Raises:
        IndexNotWritten: the disk is full, or a file could not be written.
    """
    try:
        yield
    except (OSError, sqlite3.Error, KnowledgeError) as exc:
        is_full = getattr(exc, "errno", None) in _FULL or _FULL_WORDS in str(exc)
        if is_full or shutil.disk_usage(target).free < _LITTLE_BYTES:
            reason = "the disk is full"
        elif isinstance(exc, OSError):
            # NumPy reports a write that was cut short without an errno.
            reason = exc.strerror or "a file was cut short, as on a full disk"
        else:
            reason = str(exc)
        sentence = f"The index in {str(target)!r} could not be written: {reason}. What there was is as it was"
        raise IndexNotWritten(sentence) from exc
