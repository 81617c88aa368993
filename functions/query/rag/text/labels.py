"""``[Title > Section]`` labels: written into contexts by the packer, read back from answers by the citer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEPARATOR = " > "
# gpt-oss models may cite in full-width brackets (U+3010, U+3011).
_CITATION = re.compile(r"[\[\u3010]([^\[\]\u3010\u3011]+)[\]\u3011]")
ARROW = "\u203a"
"""What a label shows in place of a ``>`` in a title or a heading."""
# A title's own brackets and arrows would end or split the label: show look-alikes instead.
_SAFE = str.maketrans({"[": "(", "]": ")", "\u3010": "(", "\u3011": ")", ">": ARROW})


@dataclass(frozen=True, slots=True)
class Label:
    """One bracketed reference in a text. ``position`` is the offset of ``raw``; ``section`` may be ``""``."""

    raw: str
    title: str
    section: str
    position: int


def safe(text: str) -> str:
    """``text`` on one line, without the characters that have a meaning in a label."""
    return " ".join(text.translate(_SAFE).split())


def mute(text: str) -> str:
    """``text`` with look-alikes (as long) for brackets that would be read as a label: what is quoted cites nothing."""
    muted = _CITATION.sub(lambda match: f"\uff3b{match[1]}\uff3d" if match[1].strip() else match[0], text)
    return muted if muted == text else mute(muted)  # brackets around brackets


def make_label(title: str, section: str) -> str:
    """``"[Title > Section]"``, or ``"[Title]"`` where there is no section."""
    path = [safe(title), *(safe(part) for part in section.split(_SEPARATOR) if part.strip())]
    return f"[{_SEPARATOR.join(path)}]"


def find_labels(text: str) -> tuple[Label, ...]:
    """Every bracketed reference in ``text``, deduplicated by title (case-insensitive, the first one wins)."""
    found: dict[str, Label] = {}
    for match in _CITATION.finditer(text):
        title, _, section = (part.strip() for part in match[1].partition(">"))
        if title:
            found.setdefault(title.casefold(), Label(match[0], title, section, match.start()))
    return tuple(found.values())
