"""What is in a file, as of one moment, whoever writes to it meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

READ_TRIES = 3
"""A file that changes while it is read is read so many times."""


def file_bytes(path: Path) -> bytes:
    """What is in the file, of one moment.

    Raises:
        OSError: it cannot be read, or was being written all the time.
        ValueError: it is a pipe or a device.
    """
    for _ in range(READ_TRIES):
        with open(path, "rb", opener=_without_waiting) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise ValueError("is not a regular file")
            data = file.read()
            after = path.stat()
            if _moment(before) == _moment(after) and len(data) == after.st_size:
                return data
    raise OSError("it changes while it is read; run the command again when it is written")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a pipe would wait for its writer for ever


def _moment(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns
