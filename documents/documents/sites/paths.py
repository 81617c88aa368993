"""Folders of a site, and paths of pages as most tools make them."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path, PurePosixPath

_DAY = re.compile(r"(?<!\d)(\d{4})([-/.])(\d\d?)\2(\d\d?)(?!\d)")


def list_folders(folder: Path, *, with_links: bool = True) -> list[Path]:
    """Return the folders in ``folder`` by name; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and (with_links or not path.is_symlink()))
    except OSError:
        return []


def page_path(path: PurePosixPath, folder_names: frozenset[str], ending: str) -> str:
    """Return ``/a/b`` with ``ending`` for ``a/b.md``; ``/a/`` for a file with one of ``folder_names`` (lower case)."""
    if path.stem.lower() in folder_names:
        return folder_path(path.parent)
    return f"/{path.with_suffix('').as_posix()}{ending}"


def folder_path(path: PurePosixPath) -> str:
    """Return ``/a/b/`` for ``a/b``, ``/`` for the top."""
    return "/" if path.as_posix() == "." else f"/{path.as_posix()}/"


def find_day(*texts: str) -> tuple[str, str, str]:
    """Return year, month and day of the first text with a calendar day in it, ``""`` each without one."""
    for text in texts:
        for year, _, month, day in _DAY.findall(text):
            try:
                found = date(int(year), int(month), int(day))
            except ValueError:
                continue
            return f"{found.year:04}", f"{found.month:02}", f"{found.day:02}"
    return "", "", ""
