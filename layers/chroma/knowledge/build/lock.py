"""One writer of an index at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from knowledge.build.durable import flush_names
from knowledge.model.errors import IndexLocked

LOCK_NAME = ".lock"


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Be the only writer of the index in the folder ``target``, whose manifest the disk holds.

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
