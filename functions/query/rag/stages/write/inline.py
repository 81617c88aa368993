"""Inline Markdown and HTML as plain text."""

from __future__ import annotations

import re
from html import unescape

from rag.stages.write.html_elements import DROPPED, KNOWN

HOLE = "\ufffc"
"""Stands where a page shows what its source does not say in words: an image, a template's value."""

# Letters of code and escaped marks wait in Unicode's last planes, which mean nothing, until the markup is gone.
_CODE_PLANE = 0x100000
_ESCAPE_PLACE = 0xFFF00
_TAKEN = re.compile("[\U000fff00-\U0010ffff]")
_HIDDEN_CODE = re.compile("[\U00100000-\U0010ffff]")
_ESCAPED = {_ESCAPE_PLACE + code: chr(code) for code in range(0x21, 0x7F)}
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`+)(?!`)(.+?)(?<!`)\2(?!`)", re.DOTALL)

_BRACKETED = r"\[((?:[^\[\]]++|\[[^\[\]]*+\])*+)\]"
# An address follows at once; or, as some write it, after a space.
_TARGET = r"(?:\((?:[^()]|\([^()]*\))*\)| \(https?://[^()\s]*\))"
_IMAGE = re.compile(rf"!{_BRACKETED}(?:{_TARGET}|\[[^\[\]]*\])")
_LINK = re.compile(_BRACKETED + _TARGET)
_REFERENCE = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]")
# A link and a full stop at the beginning are a label: what follows is said of it.
_LABEL = re.compile(rf"^\W{{0,3}}{_BRACKETED}{_TARGET}[*_]{{0,3}}\.(?=\s|$)")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+|[^\s<>@]+@[^\s<>@]+)>")
_TEMPLATE_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
_COMMENT = re.compile(r"<!--.*?-->")
_HTML_TAG = re.compile(r"</?([a-zA-Z][\w-]*)[^<>]*>")
_EMPHASIS = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
_ITALIC = re.compile(r"(?<![\w*])[*_](?=\S)([^*_\n]+?)(?<=\S)[*_](?![\w*])")
_BEGINNING = re.compile("[\"'\u201c\u2018]?[^\\W_a-z]|[\U00100000-\U0010ffff]")
_ENTITY = re.compile(r"&#?\w+;")
_VOID = DROPPED | {"img", "input", "picture", "audio", "video", "canvas"}


def hide(text: str) -> str:
    """``text`` with its code spans and escaped marks out of reach of ``flatten`` and of whoever looks for marks.

    What stands in code ticks is kept to the letter: ``<name>`` is no tag there, ``__init__`` no emphasis.
    """

    def hidden(match: re.Match[str]) -> str:
        if match[1]:
            return chr(_ESCAPE_PLACE + ord(match[1]))
        return "".join(_hidden(char) for char in " ".join(match[3].split()))

    return _LITERAL.sub(hidden, _TAKEN.sub(HOLE, text))


def flatten(hidden: str) -> str:
    """What ``hide`` gave as plain text on one line: links by their words, no emphasis, tags, entities, footnote marks.

    Code is still hidden (see ``reveal``); a ``HOLE`` stands for each image, template tag and unknown HTML element.
    """
    text = _LABEL.sub(lambda match: f"{match[0][:-1]}{_hidden('.')}", hidden)
    text = _IMAGE.sub(HOLE, text)
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # twice: a link's words may hold a link
    text = _REFERENCE.sub(r"\1", _FOOTNOTE.sub("", text))
    text = _AUTOLINK.sub(r"\1", text)
    text = _TEMPLATE_TAG.sub(HOLE, text)
    text = _HTML_TAG.sub(_without_tag, _COMMENT.sub(" ", text))
    text = _ITALIC.sub(r"\1", _EMPHASIS.sub(r"\2", text))
    text = _ENTITY.sub(lambda match: unescape(match[0]), text)
    return " ".join(text.translate(_ESCAPED).split())


def reveal(text: str) -> str:
    """What ``flatten`` gave with its code, to be read by people."""
    return _HIDDEN_CODE.sub(lambda match: chr(ord(match[0]) - _CODE_PLANE), text)


def without_holes(text: str) -> str:
    """``text`` without the holes around it; ``""`` where one is inside, or the text goes on from one."""
    inner = text.strip(f" {HOLE}")
    goes_on = text.startswith(HOLE) and not _BEGINNING.match(inner)
    return "" if HOLE in inner or goes_on else inner


def is_code(char: str) -> bool:
    """Whether ``char`` of a flattened text is a letter of code."""
    return _HIDDEN_CODE.match(char) is not None


def _hidden(char: str) -> str:
    return chr(_CODE_PLANE + ord(char)) if ord(char) <= 0xFFFF else char


def _without_tag(match: re.Match[str]) -> str:
    name = match[1].lower()
    if name in _VOID or name not in KNOWN:
        return HOLE
    return " " if name in ("br", "hr") else ""
