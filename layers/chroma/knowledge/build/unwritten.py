"""From what a full disk or a failing one raises while an index is written to one sentence that names the folder."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from knowledge.model.errors import IndexNotWritten, KnowledgeError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_WORDS = "disk is full"
"""SQLite's, of which Chroma tells the words only."""
_LITTLE_BYTES = 1 << 24
"""With less than this free a write that failed says enough: of some Chroma tells no reason."""


@contextmanager
def telling_unwritten(target: Path) -> Iterator[None]:
    """While something is written that the manifest in the folder ``target`` does not name yet.

    Raises:
        IndexNotWritten: the disk is full, or a file could not be written.
    """
    try:
        yield
    except (OSError, sqlite3.Error, KnowledgeError) as exc:
        reason = "the disk is full" if _is_full(target, exc) else _reason(exc)
        sentence = f"The index in {str(target)!r} could not be written: {reason}. What there was is as it was"
        raise IndexNotWritten(sentence) from exc


def _is_full(target: Path, error: Exception) -> bool:
    known = getattr(error, "errno", None) in _FULL or _FULL_WORDS in str(error)
    return known or shutil.disk_usage(target).free < _LITTLE_BYTES


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        # NumPy says of a write that was cut short how many items it wrote, and no more.
        return error.strerror or "a file was cut short, as on a full disk"
    return str(error)
