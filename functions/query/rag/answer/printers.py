"""Writing: a tree as nodes of JSON for a page, and as plain text. ``rag.answer.markdown`` writes Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from rag.answer import tree as t

type JsonNode = str | dict[str, Any]
type ReferenceLookup = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

LINK_SCHEMES = ("http://", "https://", "mailto:")
"""What a link may begin with; another one is shown as its text."""


def inline_text(run: Iterable[t.Inline]) -> str:
    """What a reader sees of a run of nodes, its citations left out."""
    return "".join(map(_plain, run))


def _plain(node: t.Inline) -> str:
    match node:
        case t.Text(text) | t.Code(text):
            return text
        case t.LineBreak():
            return "\n"
        case t.Styled() | t.Link():
            return inline_text(node.children)
        case t.ClaimSpan():
            return inline_text(node.children) + (f" ({node.note})" if node.note else "")
        case _:
            return ""


def plain_text(tree: Iterable[t.Block]) -> str:
    """What a reader sees of ``tree``, a line a block, an item, or a row, citations left out."""
    return "\n".join(map(_plain_block, tree))


def _plain_block(block: t.Block) -> str:
    if isinstance(block, t.CodeBlock):
        return "\n".join(filter(None, (block.text, inline_text(block.children))))
    if isinstance(block, t.LeafBlock):
        return inline_text(block.children)
    return (" | " if isinstance(block, t.TableRow) else "\n").join(map(_plain_block, block.children))


def json_nodes(tree: Iterable[t.Block], number: ReferenceLookup) -> list[JsonNode]:
    """``tree`` as nodes: strings, and objects with a ``tag`` and ``children``."""
    return [_block(block, number) for block in tree]


def _block(block: t.Block, number: ReferenceLookup) -> JsonNode:
    match block:
        case t.CodeBlock():
            return _code(block, number)
        case t.ListItem():
            return _item(block, number)
        case t.TableBlock():
            head, *rows = ([_row(row, number, "td" if place else "th")] for place, row in enumerate(block.children))
            bodies = [_element("tbody", [*chain(*rows)])] if rows else []
            return _element("table", [_element("thead", head), *bodies])
        case t.LeafBlock():
            return _element(
                f"h{block.level}" if isinstance(block, t.Heading) else "p", inline_nodes(block.children, number)
            )
        case t.ListBlock() if block.start is not None:
            return _element("ol", json_nodes(block.children, number), start=block.start)
        case _:
            tag = {t.ListBlock: "ul", t.BlockQuote: "blockquote"}.get(type(block), "hr")
            return _element(tag, json_nodes(block.children, number))


def _element(tag: str, children: Iterable[JsonNode], **attributes: Any) -> dict[str, Any]:
    return {"tag": tag, "children": [*children], **attributes}


def _row(row: t.TableRow, number: ReferenceLookup, tag: str) -> JsonNode:
    more = [{"align": cell.align} if cell.align else {} for cell in row.children]
    cells = [
        _element(tag, inline_nodes(cell.children, number), **one) for cell, one in zip(row.children, more, strict=True)
    ]
    return _element("tr", cells)


def _item(item: t.ListItem, number: ReferenceLookup) -> JsonNode:
    """Its paragraph has no element of its own where it has but one: no item changes when the next one comes."""
    bare = sum(isinstance(block, t.Paragraph) for block in item.children) == 1
    children: list[JsonNode] = []
    for block in item.children:
        alone = bare and isinstance(block, t.Paragraph)
        children += inline_nodes(block.children, number) if alone else [_block(block, number)]  # type: ignore[arg-type]
    return _element("li", children)


def _code(block: t.CodeBlock, number: ReferenceLookup) -> JsonNode:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.children, number)
    if not below:
        return code
    inner = below[0]
    if len(below) == 1 and isinstance(inner, dict) and inner["tag"] == "statement":
        return {**inner, "children": [code, *inner["children"]]}
    return _element("statement", [code, *below], support="uncited")


def inline_nodes(run: Iterable[t.Inline], number: ReferenceLookup) -> list[JsonNode]:
    """A run of nodes of the tree as nodes of JSON."""
    return [made for node in run for made in _inline(node, number)]


def _inline(node: t.Inline, number: ReferenceLookup) -> list[JsonNode]:
    match node:
        case t.Text(text) | t.Mark(text):
            return [text]
        case t.Code(text):
            return [_element("code", [text])]
        case t.LineBreak(hard):
            return [_element("br", [])] if hard else ["\n"]
        case t.Cite(chunk):
            n, chunk_id = number(chunk)
            return [_element("cite", [], n=n, chunkId=chunk_id)]
        case _:
            return _holder(node, inline_nodes(node.children, number))


def _holder(node: t.Styled | t.Link | t.ClaimSpan, inner: list[JsonNode]) -> list[JsonNode]:
    match node:
        case t.Styled(style):
            return [_element(style, inner)]
        case t.Link(href):
            leads = not node.image and href.lower().startswith(LINK_SCHEMES)
            return [_element("a", inner, href=href)] if leads else inner
        case t.ClaimSpan():
            noted = [*inner, " ", _element("note", [node.note])] if node.note else inner
            return [_element("statement", noted, support=node.support)] if node.support else noted
