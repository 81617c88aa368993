"""The words of icons that stand where words would: the check mark in a table's cell is the answer there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bs4 import Tag

# Of 217 icons in the tables of a help centre (15 articles) all are named check or times.
_YES = re.compile(r"(?:^|[\W_])(?:check(?:mark)?|tick|yes)(?:[\W_]|$)", re.IGNORECASE)
_NO = re.compile(r"(?:^|[\W_])(?:(?:times|cross|xmark)(?:[\W_]|$)|no(?:\.\w+)?$)", re.IGNORECASE)
_NAMES = ("name", "icon", "data-icon", "href", "xlink:href", "src")
_LABELS = ("aria-label", "title", "alt")
_ICONS = frozenset({"i", "span", "svg", "img"})
_INLINE = frozenset({"abbr", "b", "center", "em", "font", "i", "picture", "small", "span", "strong", "u"})
_CONTROLS = frozenset({"a", "button", "label", "summary", "option"})


def is_icon(name: str) -> bool:
    """Return whether an element with that ``name`` may be an icon."""
    return name in _ICONS or name.lower().endswith("icon")


def icon_word(icon: Tag) -> str:
    """Return "yes" or "no" for an icon that is named so, else its label, or ``""``."""
    parts = [icon, *icon.find_all("use")]
    names = [*icon.get_attribute_list("class"), *(str(part.get(name) or "") for part in parts for name in _NAMES)]
    label = next((str(icon[name]) for name in _LABELS if icon.get(name)), "") or (icon.title.text if icon.title else "")
    label = " ".join(label.split())
    return named_word([*names, label] if len(label.split()) < 3 else names) or label


def named_word(names: Iterable[str]) -> str:
    """Return "yes" or "no" if one of ``names`` says so, else ``""``."""
    names = tuple(names)
    return next((word for word, pattern in (("yes", _YES), ("no", _NO)) if any(map(pattern.search, names))), "")


def write_icons(page: Tag) -> None:
    """Replace each icon in ``page`` that has no words beside it by its word; links and buttons keep theirs."""
    found = []
    for icon in page.find_all(lambda tag: is_icon(tag.name)):
        block = icon
        while block.parent is not None and (block is icon or block.name in _INLINE):
            block = block.parent
        has_words = any(re.search(r"[^\W_]", text) and not text.find_parent("svg") for text in block.strings)
        own = () if icon.name == "svg" else icon.stripped_strings
        if block.name not in _CONTROLS and not any(own) and not has_words and (word := icon_word(icon)):
            found.append((icon, word))
    for icon, word in found:
        icon.replace_with(f" {word} ")
