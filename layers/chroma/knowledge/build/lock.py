"""One writer of an index at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from knowledge.errors import IndexLocked

LOCK_NAME = ".lock"


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Be the only writer of the index in the folder ``target``.

    Raises:
        IndexLocked: another process is writing it.
    """
    lock = FileLock(target / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout as exc:
        raise IndexLocked(f"Another process is writing the index in {str(target)!r} ({LOCK_NAME} is held)") from exc
    try:
        yield
    finally:
        lock.release()
