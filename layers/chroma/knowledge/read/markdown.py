"""The block structure of a Markdown text, by line, for titles and chunking.

markdown-it parses it (its block rules alone: 10 MB take some seconds), so that fences, setext headings, lists and
tables follow CommonMark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType

MAX_HEADING_CHARS = 200
"""A longer "heading" is a paragraph that somebody put a ruler under (``text\\n---``): it is read as text."""

_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark").enable("strikethrough")

_CONTAINERS = ("bullet_list", "ordered_list", "list_item", "blockquote")
_LEAVES = ("paragraph_open", "heading_open", "fence", "code_block", "table_open", "html_block", "hr")
_MARKS = re.compile(r"[*`~<\[\\&]")
_TAGS = re.compile(r"<([a-z][a-z\d]*)(?:\s[^<>]*)?>(.*?)</\1\s*>|(?<=\S)(<(?:w?br)\s*/?>)", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.:][^{}]*\}\s*$")  # "Heading {#anchor}", kramdown's and Pandoc's


@dataclass(frozen=True, slots=True)
class Block:
    """A block and the lines that it covers: ``first`` is its first line, ``end`` the one after its last (from 0).

    ``kind`` is markdown-it's name (paragraph, heading, fence, code_block, table, html_block, hr, bullet_list,
    ordered_list, list_item, blockquote). ``level`` (1-6), ``title`` (without markup) and ``named`` (it is only
    code) belong to headings, ``markup`` (the run of backticks or tildes) to fences, ``children`` to lists, items and
    quotations.
    """

    kind: str
    first: int
    end: int
    level: int = 0
    title: str = ""
    named: bool = False
    markup: str = ""
    children: tuple[Block, ...] = ()


def parse(text: str) -> tuple[Block, ...]:
    """Parse ``text`` (lines end with LF) into its top-level blocks, in order.

    Lines that make no block (blank ones, link definitions) are in the gaps between them.
    """
    env: EnvType = {}
    tokens = _BLOCKS.parse(text, env)
    levels: list[list[Block]] = [[]]
    lines: list[tuple[int, int]] = []
    for index, token in enumerate(tokens):
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name in _CONTAINERS and token.nesting == 1:
            levels.append([])
            lines.append(_lines(token))
        elif name in _CONTAINERS:
            children = tuple(levels.pop())
            levels[-1].append(Block(name, *lines.pop(), children=children))
        elif token.type in _LEAVES:
            levels[-1].append(_leaf(token, tokens[index + 1 : index + 2], env))
    return tuple(levels[0])


def headings(blocks: Sequence[Block]) -> Iterator[Block]:
    """Return the headings among top-level ``blocks``: a heading inside a list or a quotation does not count."""
    return (block for block in blocks if block.kind == "heading")


def plain_title(text: str) -> str:
    """Return the words of a title in front matter, on one line, without marks of Markdown and tags around words.

    Unlike in a heading ``__init__`` is a word, and so is a tag without a second one (``The <head> element``).
    """
    if not _MARKS.search(text):
        return " ".join(text.split())
    while _TAGS.search(text):
        text = _TAGS.sub(lambda match: " " if match[3] else match[2], text)
    tokens = _INLINE.parseInline(" ".join(text.split()))[0].children or []
    words = (token.content or (token.markup if "_" in token.markup else "") for token in tokens)
    return " ".join("".join(words).split())


def _leaf(token: Token, following: Sequence[Token], env: EnvType) -> Block:
    first, end = _lines(token)
    if token.type == "heading_open":
        source = following[0].content
        # With the addresses of links it may be longer; reading inline markup is slow.
        title, named = _plain(source, env) if len(source) <= 10 * MAX_HEADING_CHARS else (source, False)
        if len(title) <= MAX_HEADING_CHARS:
            return Block("heading", first, end, level=int(token.tag[1]), title=title, named=named)
        return Block("paragraph", first, end)
    return Block(token.type.removesuffix("_open"), first, end, markup=token.markup)


def _lines(token: Token) -> tuple[int, int]:
    first, end = token.map or (0, 0)
    return first, end


def _plain(source: str, env: EnvType) -> tuple[str, bool]:
    """Return the visible text of inline Markdown, without HTML tags and attribute lists, and if it is only code."""
    parts: list[str] = []
    words = ""
    for inline in _INLINE.parseInline(source, env):
        for token in inline.children or ():
            if token.type in ("softbreak", "hardbreak"):
                parts.append(" ")
            elif token.type in ("text", "code_inline", "image", "text_special"):
                parts.append(token.content)
                words += "" if token.type == "code_inline" else token.content
    title = " ".join(_ATTRIBUTES.sub("", "".join(parts)).split())
    return title, bool(title) and not any(map(str.isalnum, _ATTRIBUTES.sub("", words)))
