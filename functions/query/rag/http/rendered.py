"""Markdown, an answer's or a passage's, as a tree of nodes, so that a page builds it without ever parsing HTML.

markdown-it reads it, the library that cuts documents and statements too, with HTML switched off. A node is a string or
an object: ``{"tag": "p", "children": [...]}``. ``TAGS`` are all that there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rag.stages.check.support import NOT_CITED, NOT_FOUND
from rag.values.answer import Answer, Placed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

type Node = str | dict[str, Any]

_TAG_NAMES = "p ul ol li strong em s code pre blockquote h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td a"
TAGS = frozenset({*_TAG_NAMES.split(" "), "cite", "unsupported"})
LINKED = ("http://", "https://", "mailto:")
"""What a link may begin with; another one is shown as its text."""

# Private characters stand for what is no Markdown while that is read; an answer's own ones are replaced before.
_OPEN, _CLOSE, _NOT_FOUND, _NOT_CITED = "\ue000", "\ue001", "\ue002", "\ue003"
_PRIVATE = str.maketrans(dict.fromkeys((_OPEN, _CLOSE, _NOT_FOUND, _NOT_CITED), "\ufffd"))
_SIGN = re.compile(f"{_OPEN}([0-9,]+){_CLOSE}|([{_NOT_FOUND}{_NOT_CITED}])")
_WORDS = {_NOT_FOUND: NOT_FOUND.strip("*()"), _NOT_CITED: NOT_CITED.strip("*()")}


def rendered(answer: Answer) -> list[Node]:
    """The answer as nodes.

    A mark of a citation is ``{"tag": "cite", "n": N}`` for each of its citations, which count from 1. What the check
    put behind a statement is ``{"tag": "unsupported", "children": [what it says]}``.
    """
    text = _with_signs(answer.text.translate(_PRIVATE), answer.marks)
    text = text.replace(NOT_FOUND, _NOT_FOUND).replace(NOT_CITED, _NOT_CITED)
    return _tree(iter(_markdown().parse(text)))


def rendered_text(text: str) -> list[Node]:
    """A passage as nodes."""
    return _tree(iter(_markdown().parse(text.translate(_PRIVATE))))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: an answer that nobody renders does not need it

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _with_signs(text: str, marks: Sequence[Placed]) -> str:
    done, at = "", 0
    for mark in marks:
        if mark.start >= at:
            numbers = ",".join(str(place + 1) for place in mark.citations)
            done += f"{text[at : mark.start]}{_OPEN}{numbers}{_CLOSE}"
            at = mark.end
    return done + text[at:]


def _tree(tokens: Iterator[Token]) -> list[Node]:
    """The nodes up to the end of the element that the caller opened."""
    nodes: list[Node] = []
    for token in tokens:
        if token.nesting == -1:
            return nodes
        if token.type == "inline":
            nodes += _tree(iter(token.children or ()))
        elif token.nesting == 1:
            nodes += _element(token, _tree(tokens))
        else:
            nodes += _leaf(token)
    return nodes


def _element(token: Token, children: list[Node]) -> list[Node]:
    """An element with its children; the children alone where a list shows no paragraphs or the tag is none of ours."""
    if token.hidden or token.tag not in TAGS:
        return children
    node: dict[str, Any] = {"tag": token.tag, "children": children}
    if token.tag == "a":
        href = str(token.attrGet("href") or "")
        if not href.lower().startswith(LINKED):
            return children
        node["href"] = href
    elif token.tag == "ol" and isinstance(start := token.attrGet("start"), int):
        node["start"] = start
    elif token.tag in {"th", "td"} and (align := re.search(r"left|right|center", str(token.attrGet("style") or ""))):
        node["align"] = align[0]
    return [node]


def _leaf(token: Token) -> list[Node]:
    match token.type:
        case "softbreak":
            return ["\n"]
        case "hardbreak" | "hr":
            return [{"tag": token.tag, "children": []}]
        case "code_inline":
            return [{"tag": "code", "children": [_restored(token.content)]}]
        case "fence" | "code_block":
            return [{"tag": "pre", "children": [{"tag": "code", "children": [_restored(token.content)]}]}]
        case _:  # text, and of an image what stands for it
            return list(_signed(token.content))


def _signed(text: str) -> Iterator[Node]:
    """``text`` with nodes in place of its signs."""
    at = 0
    for sign in _SIGN.finditer(text):
        if at < sign.start():
            yield text[at : sign.start()]
        at = sign.end()
        if sign[2]:
            yield {"tag": "unsupported", "children": [_WORDS[sign[2]]]}
        else:
            yield from ({"tag": "cite", "n": int(number), "children": []} for number in sign[1].split(","))
    if at < len(text):
        yield text[at:]


def _restored(code: str) -> str:
    """Code without signs: nothing cites there, and what the check says stands below it."""
    return _SIGN.sub(lambda sign: f"({_WORDS[sign[2]]})" if sign[2] else "", code)
