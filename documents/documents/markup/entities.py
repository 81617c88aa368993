"""HTML's entities (``&copy;``, ``&#8203;``) as their characters, where Markdown reads these as nothing else."""

from __future__ import annotations

import html
import re
import unicodedata

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKS = frozenset("\\`*_[]<|#")


def without_entities(prose: str) -> str:
    """``prose``, a text without its code, with characters. Those that Markdown would read as marks have a backslash."""
    return _ENTITY.sub(_shown, prose) if "&" in prose else prose


def _shown(match: re.Match[str]) -> str:
    char = html.unescape(match[0])
    if char == match[0] or (char == "&" and re.match(r"#?\w+;", match.string[match.end() : match.end() + 40])):
        return match[0]
    if char.isspace():
        return " "
    if not char.isprintable() and all(unicodedata.category(one) in ("Cf", "Cc") for one in char):
        return ""  # soft hyphens, blanks without width
    if char == ">":
        return char if match.string[: match.start()].rpartition("\n")[2].strip() else "\\>"
    return f"\\{char}" if char in _MARKS else char
