"""What a text of Markdown leads to, read with a CommonMark parser that lets everything through."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_BEGINS = r"(?:(?:https?|ftp)://|(?<![A-Za-z0-9])www\.)(?=[^\s<]*\w)"
BARE = re.compile(rf"{_BEGINS}[^\s<]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
"""What renderers make a link of without being told to."""
BEHIND = "?!.,:;*_~'\")]}>|"
"""Of an address, these are the sentence's."""
GREEDY = re.compile(rf"{_BEGINS}[\w`*\[\]\\|][^\s<]*", re.IGNORECASE)
_TEXT = re.compile(rf"(?:(?!{GREEDY.pattern})[^\n!&*<>\[\\\]_`~])+", re.IGNORECASE)


def leads(text: str) -> list[tuple[str, str]]:
    """Everything in ``text`` that is more than text, as its kind and its address, with tables and without.

    Bare addresses are read as text, and as GitHub reads them: all up to a blank, ticks and brackets too.
    """
    return [
        lead for tables in (True, False) for greedy in (False, True) for lead in _leads(_reader(tables, greedy), text)
    ]


def links(text: str) -> list[tuple[str, str]]:
    """Each link of ``text``: what it says, and where it leads."""
    found = []
    for block in _reader(tables=False).parse(text):
        children = list(block.children or ())
        for at, child in enumerate(children):
            if child.type == "link_open":
                end = next(i for i in range(at, len(children)) if children[i].type == "link_close")
                found.append((said(children[at:end]), str(child.attrGet("href"))))
    return found


def said(tokens: Sequence[Token]) -> str:
    """The text of ``tokens``."""
    return "".join(token.content for token in tokens)


def nodes_lead(nodes: Sequence[Any]) -> Iterator[str]:
    """The addresses in a rendered answer."""
    for node in nodes:
        if not isinstance(node, str):
            yield from [node["href"]] if "href" in node else []
            yield from nodes_lead(node.get("children", ()))


@cache
def _reader(tables: bool, greedy: bool = False) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True, "inline_definitions": True})
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    if greedy:
        reader.inline.ruler.at("text", _text)
        reader.inline.ruler.before("text", "greedy", _greedy)
    return reader.enable(["strikethrough", "table"]) if tables else reader


def _greedy(state: StateInline, silent: bool) -> bool:
    match = GREEDY.match(state.src, state.pos, state.posMax)
    if match is None or state.linkLevel:
        return False
    address = match[0].rstrip(BEHIND)
    if not silent:
        state.push("link_open", "a", 1).attrSet("href", address)
        state.push("text", "", 0).content = address
        state.push("link_close", "a", -1)
    state.pos += len(address)
    return True


def _text(state: StateInline, silent: bool) -> bool:
    match = _TEXT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.append_pending(match[0])
    state.pos = match.end()
    return True


def _leads(reader: MarkdownIt, text: str) -> Iterator[tuple[str, str]]:
    for block in reader.parse(text):
        if block.type in {"html_block", "definition"}:
            yield block.type, block.content or str(block.meta.get("url"))
        run, depth = "", 0
        for child in block.children or ():
            depth += child.nesting if child.type in {"link_open", "link_close"} else 0
            if child.type == "text" and not depth:
                run += child.content
                continue
            yield from (("bare", found[0]) for found in BARE.finditer(run))
            run = ""
            if child.type == "html_inline":
                yield child.type, child.content
            elif child.type in {"link_open", "image"}:
                yield child.type, str(child.attrGet("href") or child.attrGet("src") or "")
        yield from (("bare", found[0]) for found in BARE.finditer(run))
