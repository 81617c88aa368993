"""Which tool a folder without its configuration was written for: only what no other tool has counts."""

from __future__ import annotations

import re
from pathlib import Path

MAX_FOLDERS = 50
_GITBOOK = (".gitbook", ".gitbook.yaml")  # which has a SUMMARY.md too
_NUXT = re.compile(r"\d+\.[a-z]")


def kind_of(root: Path) -> str:
    """The kind of site that names show; ``""`` where none does.

    ``hugo`` for ``_index.md``, ``jekyll`` for ``_posts`` and ``_docs``, ``mdbook`` for ``SUMMARY.md``, ``nuxt`` for
    folders like ``1.guide``, ``wiki`` (GitHub's) for ``Home.md``, ``sphinx`` for a tree of contents in ``index.rst``.
    """
    folders = [root, *_folders(root)]
    if any((folder / "_index.md").is_file() for folder in folders):
        return "hugo"
    if any(folder.name in ("_posts", "_docs") for folder in folders[1:]):
        return "jekyll"
    if (root / "SUMMARY.md").is_file() and not any((root / name).exists() for name in _GITBOOK):
        return "mdbook"
    if any(_NUXT.match(below.name) for folder in folders for below in _folders(folder)):
        return "nuxt"
    if "Home.md" in _names(root):
        return "wiki"
    return "sphinx" if _has_toctree(root / "index.rst") else ""


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:MAX_FOLDERS]
    except OSError:
        return []


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(path.name for path in folder.iterdir())
    except OSError:
        return frozenset()


def _has_toctree(index: Path) -> bool:
    if not index.is_file():  # opening a pipe would wait for its writer
        return False
    try:
        with index.open(encoding="utf-8", errors="replace") as file:
            return ".. toctree::" in file.read(64 * 1024)
    except OSError:
        return False
