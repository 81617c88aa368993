"""What a document without a title is called: its file's name, as people read it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

INDEX_NAMES = frozenset({"index", "_index", "readme"})
"""Files that stand for their folder, lower case, without suffix."""

# Jekyll's date before a post's name, and the numbers that Nuxt Content, Docusaurus and people sort pages by.
_DATED = re.compile(r"\d{4}-\d\d?-\d\d?[-_]")
_NUMBERED = re.compile(r"\d{1,3}(?:\.|[-_ ]+)(?=[^\W\d])")


def title_of(path: str) -> str:
    """The words of a file's name (``path`` with forward slashes), without what only sorts it.

    A file that stands for its folder has the folder's name, where ``path`` has one.
    """
    place = PurePosixPath(path)
    named = place.parent.name if place.stem.lower() in INDEX_NAMES and place.parent.name else place.stem
    name = without_order(_DATED.sub("", named, count=1) if _DATED.match(named) else named)
    return " ".join(name.replace("-", " ").replace("_", " ").split()) or named


def without_order(name: str) -> str:
    """A file's or folder's name without the number that sorts it: ``1.getting-started``, ``02-install``."""
    match = _NUMBERED.match(name)
    return name[match.end() :] if match else name
