"""What a page looked at besides itself while it was read, and whether that is as it was.

A look is a text: ``file:/docs/a.md`` (what is in a file, or that there is none), ``pages:/docs`` (which Markdown files
are below a folder), ``folder:/docs/.obsidian`` (whether there is such a folder) or ``titles:/docs`` (what the documents
below a folder are called: see ``documents.converters.sphinx_folder``).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_LOOKS: ContextVar[set[str] | None] = ContextVar("looks", default=None)


@contextmanager
def noted() -> Iterator[set[str]]:
    """The looks of all that is read within this block, in this thread."""
    looks: set[str] = set()
    token = _LOOKS.set(looks)
    try:
        yield looks
    finally:
        _LOOKS.reset(token)


def look(kind: str, place: Path) -> None:
    """Note a look; ``kind`` is file, pages, folder or titles."""
    looks = _LOOKS.get()
    if looks is not None:
        looks.add(f"{kind}:{place}")


def state(noted_look: str) -> str:
    """What there is to see now: equal where it is the same; ``""`` where there is nothing."""
    kind, _, place = noted_look.partition(":")
    path = Path(place)
    if kind == "folder":
        return "there" if path.is_dir() else ""
    if kind == "pages":
        return hashlib.sha256("\n".join(pages_below(path)).encode(errors="surrogateescape")).hexdigest()
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def pages_below(root: Path) -> Iterator[str]:
    """The paths of Markdown files in ``root``, hidden folders aside, in a fixed order."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".md"):
                yield Path(folder, name).relative_to(root).as_posix()
