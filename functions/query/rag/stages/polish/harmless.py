"""Markdown outside of code, made harmless: no tag begins in it, and no link of it runs anything."""

from __future__ import annotations

import re
from collections.abc import Container
from html import unescape

_AUTOLINK = re.compile(r"<(?:https?://[^\s<>]*|[^\s<>:@]+@[^\s<>]+)>")
_PLACEHOLDER = re.compile(r"<([A-Za-z][\w.:-]*+)[^<>=\"']*+>")
_TAG_LIKE = re.compile(r"<(?=[A-Za-z/!?])")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_AMP = re.compile(r"&(?:amp|#38);(?!#?\w+;)")
_COMPARED = re.compile(r"(?<=\s)&[lg]t;(?=[\s=\d])")
_LINK_TARGET = re.compile(
    r"(\]\(\s*|^ {0,3}\[[^\[\]\n]+\]:[ \t]*)(<[^<>\n]*>|(?:[^\s()<>]|\([^\s()]*\))+)", re.MULTILINE
)
_SCHEME = re.compile(r"(?:javascript|vbscript|data)[^/?#.]*:", re.IGNORECASE)


def harmless(text: str, elements: Container[str]) -> str:
    """``text`` without links that run something, and with a blank behind each ``<`` that could begin a tag.

    Addresses stay, and so do placeholders: names that are none of ``elements``, without attributes.
    """

    def shown(match: re.Match[str]) -> str:
        named = _PLACEHOLDER.match(text, match.start())
        stays = (named and named[1].lower() not in elements) or _AUTOLINK.match(text, match.start())
        return "<" if stays else "< "

    text = _LINK_TARGET.sub(lambda match: match[0] if is_safe_target(match[2]) else f"{match[1]}#", text)
    return _TAG_LIKE.sub(shown, text)


def is_safe_target(target: str) -> bool:
    """Whether a link to ``target`` runs nothing, as browsers read it: decoded, without white space and controls."""
    return _SCHEME.match("".join(filter(str.isprintable, unescape(target).replace(" ", "").lstrip("<")))) is None


def with_characters(text: str) -> str:
    """``text`` with references as characters, but for those that would be Markdown or begin a tag then."""
    text = _AMP.sub("&", text)
    return _COMPARED.sub(lambda match: unescape(match[0]), _REFERENCE.sub(_character, text))


def _character(match: re.Match[str]) -> str:
    char = unescape(match[0])
    if char.isspace() and not char.isascii():
        return " "
    readable = len(char) == 1 and char.isprintable() and not char.isascii() and char != "\ufffd"
    return char if readable or char in {"'", '"'} else match[0]
