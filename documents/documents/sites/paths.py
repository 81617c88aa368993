"""Paths of pages: what tools have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Any

_SLUG = re.compile(r"[^\w]+")
# Nuxt Content and Docusaurus sort pages by a number before the name, and leave it out of the address.
_NUMBERED = re.compile(r"^\d{1,3}(?:\.|[-_ ]+)(?=[^\W\d])")
_DAY = re.compile(r"(?<!\d)(\d{4})([-/.])(\d\d?)\2(\d\d?)(?!\d)")


def said(meta: Mapping[str, Any], *names: str) -> str:
    """The first text that front matter has under one of ``names``, whatever its case."""
    lower = {str(key).lower(): value for key, value in reversed(list(meta.items()))}
    found = (lower.get(name.lower()) for name in names)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), "")


def folder_or(path: PurePosixPath, names: frozenset[str], end: str) -> str:
    """``/a/b`` and ``end`` for ``a/b.md``; ``/a/`` for a file of the ``names`` (lower case) that stand for a folder."""
    if path.stem.lower() in names:
        return directory(path.parent)
    return f"/{path.with_suffix('').as_posix()}{end}"


def directory(path: PurePosixPath) -> str:
    """``/a/b/``, ``/`` for the top."""
    return "/" if path.as_posix() == "." else f"/{path.as_posix()}/"


def unnumbered(path: PurePosixPath) -> PurePosixPath:
    """``path`` without the numbers that its folders and file are sorted by."""
    return PurePosixPath(*(_NUMBERED.sub("", part) for part in path.parts))


def slug(text: str) -> str:
    """Words with hyphens between them, lower case: what Hugo and Jekyll make of a title in an address."""
    return _SLUG.sub("-", text.lower()).strip("-")


def day(*texts: str) -> tuple[str, str, str]:
    """Year, month and day of the first text with a day of the calendar in it, ``""`` each where none has one."""
    return next(filter(any, map(_day, texts)), ("", "", ""))


def _day(text: str) -> tuple[str, str, str]:
    for year, _, month, number in _DAY.findall(text):
        try:
            found = date(int(year), int(month), int(number))
        except ValueError:
            continue
        return f"{found.year:04}", f"{found.month:02}", f"{found.day:02}"
    return "", "", ""
