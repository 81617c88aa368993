"""Writing: a tree as nodes of JSON for a page, and as plain text. ``rag.answer.markdown`` writes Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from rag.answer import tree as t
from rag.answer.walk import all_nodes

type Node = str | dict[str, Any]
type Number = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

LINKED = ("http://", "https://", "mailto:")
"""What a link may begin with; another one is shown as its text."""


def plain(run: Iterable[t.Inline]) -> str:
    """What a reader sees of a run of nodes, its citations left out."""
    return "".join(map(_plain, run))


def _plain(node: t.Inline) -> str:
    match node:
        case t.Text(text) | t.Code(text):
            return text
        case t.Break():
            return "\n"
        case t.Styled() | t.Link():
            return plain(node.children)
        case t.Statement():
            return plain(node.children) + (f" ({node.note})" if node.note else "")
        case _:
            return ""


def plain_text(tree: Iterable[t.Block]) -> str:
    """What a reader sees of ``tree``, a line a block, an item, or a row, citations left out."""
    return "\n".join(map(_plain_block, tree))


def _plain_block(block: t.Block) -> str:
    if isinstance(block, t.CodeBlock):
        return "\n".join(filter(None, (block.text, plain(block.children))))
    if isinstance(block, t.Words):
        return plain(block.children)
    return (" | " if isinstance(block, t.Row) else "\n").join(map(_plain_block, block.children))


def nodes_of(tree: Iterable[t.Block], number: Number) -> list[Node]:
    """``tree`` as nodes: strings, and objects with a ``tag`` and ``children``."""
    return [_block(block, number) for block in tree]


def _block(block: t.Block, number: Number) -> Node:
    match block:
        case t.CodeBlock():
            return _code(block, number)
        case t.Item():
            return _item(block, number)
        case t.Table():
            head, *rows = ([_row(row, number, "td" if place else "th")] for place, row in enumerate(block.children))
            bodies = [_element("tbody", [*chain(*rows)])] if rows else []
            return _element("table", [_element("thead", head), *bodies])
        case t.Words():
            return _element(
                f"h{block.level}" if isinstance(block, t.Heading) else "p", inline_nodes(block.children, number)
            )
        case t.Listing() if block.start is not None:
            return _element("ol", nodes_of(block.children, number), start=block.start)
        case _:
            tag = {t.Listing: "ul", t.Quotation: "blockquote"}.get(type(block), "hr")
            return _element(tag, nodes_of(block.children, number))


def _element(tag: str, children: Iterable[Node], **attributes: Any) -> dict[str, Any]:
    return {"tag": tag, "children": [*children], **attributes}


def _row(row: t.Row, number: Number, tag: str) -> Node:
    more = [{"align": cell.align} if cell.align else {} for cell in row.children]
    cells = [
        _element(tag, inline_nodes(cell.children, number), **one) for cell, one in zip(row.children, more, strict=True)
    ]
    return _element("tr", cells)


def _item(item: t.Item, number: Number) -> Node:
    """Its paragraph has no element of its own where it has but one: no item changes when the next one comes."""
    bare = sum(isinstance(block, t.Paragraph) for block in item.children) == 1
    children: list[Node] = []
    for block in item.children:
        alone = bare and isinstance(block, t.Paragraph)
        children += inline_nodes(block.children, number) if alone else [_block(block, number)]  # type: ignore[arg-type]
    return _element("li", children)


def _code(block: t.CodeBlock, number: Number) -> Node:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.children, number)
    if not below:
        return code
    inner = below[0]
    if len(below) == 1 and isinstance(inner, dict) and inner["tag"] == "statement":
        return {**inner, "children": [code, *inner["children"]]}
    return _element("statement", [code, *below], support="uncited")


def inline_nodes(run: Iterable[t.Inline], number: Number) -> list[Node]:
    """A run of nodes of the tree as nodes of JSON."""
    return [made for node in run for made in _inline(node, number)]


def _inline(node: t.Inline, number: Number) -> list[Node]:
    match node:
        case t.Text(text) | t.Mark(text):
            return [text]
        case t.Code(text):
            return [_element("code", [text])]
        case t.Break(hard):
            return [_element("br", [])] if hard else ["\n"]
        case t.Cite(chunk):
            n, chunk_id = number(chunk)
            return [_element("cite", [], n=n, chunkId=chunk_id)]
        case _:
            return _holder(node, inline_nodes(node.children, number))


def _holder(node: t.Styled | t.Link | t.Statement, inner: list[Node]) -> list[Node]:
    match node:
        case t.Styled(style):
            return [_element(style, inner)]
        case t.Link(href):
            leads = not node.image and href.lower().startswith(LINKED)
            return [_element("a", inner, href=href)] if leads else inner
        case t.Statement():
            noted = [*inner, " ", _element("note", [node.note])] if node.note else inner
            return [_element("statement", noted, support=node.support)] if node.support else noted


def cited_chunks(tree: t.Tree) -> tuple[int, ...]:
    """The numbers of the chunks that ``tree`` cites, in the order in which they are first cited."""
    return tuple(dict.fromkeys(node.chunk for node in all_nodes(tree) if isinstance(node, t.Cite)))
