"""What the disk is to hold before anything depends on it: a cut of the power loses what was not flushed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def flush(path: Path) -> None:
    """Have the disk hold a file's content, or the names in a folder.

    Raises:
        OSError: it could not; some file systems cannot of a folder.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_names(folder: Path) -> None:
    """Have the disk hold the names in ``folder``, where its file system can."""
    with suppress(OSError):
        flush(folder)


def make_folder(path: Path) -> None:
    """Make the folder ``path`` where there is none, and those above it; the disk holds those that are new."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in new:
        flush_names(folder.parent)
