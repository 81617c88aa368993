"""``[Title > Section]`` labels: written into contexts by the packer, read back from answers by the citer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEPARATOR = " > "
# gpt-oss models may cite in full-width brackets (U+3010, U+3011).
_OPEN, _CLOSE, _INSIDE = r"[\[\u3010]", r"[\]\u3011]", r"[^\[\]\u3010\u3011]"
_CITATION = re.compile(rf"{_OPEN}({_INSIDE}+){_CLOSE}")
# Brackets around brackets that hold something; possessive, so that no text takes long.
_AROUND = re.compile(rf"{_OPEN}({_INSIDE}*+(?:{_OPEN}(?!\s*+{_CLOSE}){_INSIDE}++{_CLOSE}{_INSIDE}*+)++){_CLOSE}")
ARROW = "\u203a"
"""What a label shows in place of a ``>`` in a title or a heading."""
# A title's own brackets and arrows would end or split the label: show look-alikes instead.
_SAFE_BRACKETS = str.maketrans("[]\u3010\u3011", "()()")
_SAFE = str.maketrans("[]\u3010\u3011>", f"()(){ARROW}")


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
    while (muted := _CITATION.sub(_muted, text)) != text:  # brackets around brackets
        text = muted
    return text


def _muted(match: re.Match[str]) -> str:
    return f"\uff3b{match[1]}\uff3d" if match[1].strip() else match[0]


def make_label(title: str, section: str) -> str:
    """``"[Title > Section]"``, or ``"[Title]"`` where there is no section."""
    path = [safe(title), *(safe(part) for part in section.split(_SEPARATOR) if part.strip())]
    return f"[{_SEPARATOR.join(path)}]"


def find_labels(text: str) -> tuple[Label, ...]:
    """Every bracketed reference in ``text``, deduplicated by title (case-insensitive, the first one wins).

    Of brackets around brackets these are the inner ones.
    """
    found: dict[str, Label] = {}
    for match in _CITATION.finditer(text):
        label = _label(match, match[1])
        if label.title:
            found.setdefault(label.title.casefold(), label)
    return tuple(found.values())


def find_outer_labels(text: str) -> tuple[Label, ...]:
    """Brackets around brackets, read as one reference: the inner ones belong to its title or section, look-alikes."""
    labels = (_label(match, match[1].translate(_SAFE_BRACKETS)) for match in _AROUND.finditer(text))
    return tuple(label for label in labels if label.title)


def _label(match: re.Match[str], inside: str) -> Label:
    title, _, section = (part.strip() for part in inside.partition(">"))
    return Label(match[0], title, section, match.start())
