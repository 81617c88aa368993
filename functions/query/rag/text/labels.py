"""Labels of chunks in a context: ``[Title > Section]``, or a chunk's heading."""

from __future__ import annotations

from knowledge.model.values import Chunk

_SEPARATOR = " > "
ARROW = "\u203a"
"""Replaces a ``>`` of a title or a heading in a label."""
# A title's own brackets and arrows would end or split the label, or begin a tag that a separator closes: show
# look-alikes instead.
_SAFE = str.maketrans("[]\u3010\u3011\uff3b\uff3d<>", f"()()()\u2039{ARROW}")


def safe(text: str) -> str:
    """Return ``text`` on one line, without the characters that have a meaning in a label."""
    return " ".join(text.translate(_SAFE).split())


def make_label(title: str, section: str) -> str:
    """Return ``"[Title > Section]"``, or ``"[Title]"`` without a section."""
    path = [safe(title), *(safe(part) for part in section.split(_SEPARATOR) if part.strip())]
    return f"[{_SEPARATOR.join(path)}]"


def date_of(chunk: Chunk) -> str:
    """Return the chunk's date as far as it is known: ``2026-01-05``, ``2026-01``, ``2026`` or ``""``."""
    year, month, day = chunk.dated // 10_000, chunk.dated // 100 % 100, chunk.dated % 100
    return "-".join(f"{part:02}" for part in (year, month, day) if part)


def dated_label(label: str, chunk: Chunk) -> str:
    """Return ``label`` with the chunk's date, if it has one: ``[Title > Section] (2026-01-05)``."""
    date = date_of(chunk)
    return f"{label} ({date})" if date else label


def path_of(chunk: Chunk) -> str:
    """Return ``Title > Section`` of the chunk on one line, without empty parts."""
    return " ".join(_SEPARATOR.join(filter(None, (chunk.title, chunk.section))).split())


def heading(chunk: Chunk) -> str:
    """Return the last heading of the chunk's section, else its document's title, on one line."""
    return " ".join((chunk.section.rsplit(" > ", 1)[-1] or chunk.title).split())
