"""Markdown outside of code, made harmless: nothing in it runs, and no HTML element begins in it."""

from __future__ import annotations

import re
from html import unescape

from rag.stages.polish.html_elements import KNOWN

_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_COMPARED = re.compile(r"(?<=[^\s>] )&[lg]t;(?=[ =\d])")
_ESCAPED_AMPERSAND = re.compile(r"&(?:amp|#38);(?!#?\w+;)")
_ANGLE = re.compile(r"<(?=[A-Za-z/!?])([^<>]*)")
_PLACEHOLDER = re.compile(r"([A-Za-z][^\s/=\"']*)[^=\"']*")
_AUTOLINK = re.compile(r"(?:https?://|mailto:)\S*|[^\s:@]+@[^\s:@]+")
# On a line of its own a placeholder begins a block of HTML, in which nothing is code.
_ALONE = re.compile(
    r"^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)<(?=[A-Za-z][A-Za-z0-9-]*(?:[\s/][^<>\n]*)?>[ \t]*$)", re.MULTILINE
)
# Of a link, and of "[name]: address" on a line of its own.
_LINK_TARGET = re.compile(
    r"(\]\(\s*|^ {0,3}\[[^\[\]\n]+\]:[ \t]*)(<[^<>\n]*>|(?:[^\s()<>]|\([^\s()]*\))+)", re.MULTILINE
)
_RUNS = re.compile(r"(?:javascript|vbscript|data)[^/?#.]*:", re.IGNORECASE)


def harmless(text: str) -> str:
    """``text``, its code masked, with ``#`` for link targets that could run something, and without HTML tags.

    A blank after its ``<`` makes text of a tag. Placeholders ("<your name>") within a line stay, and so do addresses.
    Character references become characters, but for those that would be Markdown or part of a tag then.
    """
    text = _REFERENCE.sub(_character, _ESCAPED_AMPERSAND.sub("&", text))
    text = _COMPARED.sub(lambda match: unescape(match[0]), text)
    text = _LINK_TARGET.sub(lambda match: match[0] if is_safe_target(match[2]) else f"{match[1]}#", text)
    return _ANGLE.sub(_without_tag, _ALONE.sub(r"\1< ", text))


def is_safe_target(target: str) -> bool:
    """Whether a link to ``target`` runs nothing, as browsers read it: decoded, without white space and controls."""
    plain = unescape(target).replace("\\", "").lstrip("<")
    return _RUNS.match("".join(filter(str.isprintable, plain.replace(" ", "")))) is None


def _character(match: re.Match[str]) -> str:
    char = unescape(match[0])
    if char.isspace() and not char.isascii():
        return " "
    readable = char.isprintable() and not char.isascii() and char != "\ufffd"
    return char if readable or char in {"'", '"'} else match[0]


def _without_tag(match: re.Match[str]) -> str:
    placeholder = _PLACEHOLDER.fullmatch(match[1])
    is_text = _AUTOLINK.fullmatch(match[1]) or (placeholder and placeholder[1].lower() not in KNOWN)
    return match[0] if is_text else f"< {match[1]}"
