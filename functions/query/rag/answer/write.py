"""Writing: a tree as nodes of JSON for a page, and as plain text. ``rag.answer.markdown`` writes Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rag.answer import tree as t
from rag.answer.walk import all_nodes

type Node = str | dict[str, Any]
type Number = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

_TAGS = "p ul ol li strong em s code pre blockquote h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td a"
TAGS = frozenset((*_TAGS.split(), "cite", "statement", "note"))
"""All that nodes have."""
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
    return "\n".join(_plain_block(block) for block in tree)


def _plain_block(block: t.Block) -> str:
    match block:
        case t.Paragraph() | t.Heading():
            return plain(block.children)
        case t.CodeBlock():
            return "\n".join(filter(None, (block.text, plain(block.below))))
        case t.Listing():
            return "\n".join(plain_text(item.children) for item in block.items)
        case t.Quotation():
            return plain_text(block.children)
        case t.Table():
            return "\n".join(" | ".join(plain(cell) for cell in row) for row in (block.head, *block.rows))
        case t.Ruler():
            return ""


def nodes_of(tree: Iterable[t.Block], number: Number) -> list[Node]:
    """``tree`` as nodes: strings, and objects with a ``tag`` of ``TAGS`` and ``children``."""
    return [_block(block, number) for block in tree]


def _block(block: t.Block, number: Number) -> Node:
    match block:
        case t.Paragraph():
            return _element("p", inline_nodes(block.children, number))
        case t.Heading():
            return _element(f"h{block.level}", inline_nodes(block.children, number))
        case t.CodeBlock():
            return _code(block, number)
        case t.Listing():
            return _list(block, number)
        case t.Quotation():
            return _element("blockquote", nodes_of(block.children, number))
        case t.Table():
            return _table(block, number)
        case t.Ruler():
            return _element("hr", [])


def _list(block: t.Listing, number: Number) -> Node:
    items = [_item(item, number) for item in block.items]
    return _element("ul", items) if block.start is None else _element("ol", items, start=block.start)


def _table(block: t.Table, number: Number) -> Node:
    head = _row(block.head, "th", block.aligns, number)
    rows = [_row(row, "td", block.aligns, number) for row in block.rows]
    return _element("table", [_element("thead", [head]), *([_element("tbody", rows)] if rows else [])])


def _element(tag: str, children: Sequence[Node], **attributes: Any) -> Node:
    return {"tag": tag, "children": list(children), **attributes}


def _item(item: t.Item, number: Number) -> Node:
    """Its paragraph has no element of its own where it has but one: no item changes when the next one comes."""
    bare = sum(isinstance(block, t.Paragraph) for block in item.children) == 1
    children: list[Node] = []
    for block in item.children:
        if isinstance(block, t.Paragraph) and bare:
            children += inline_nodes(block.children, number)
        else:
            children.append(_block(block, number))
    return _element("li", children)


def _row(row: t.Row, tag: str, aligns: Sequence[str], number: Number) -> Node:
    cells = []
    for place, cell in enumerate(row):
        align = aligns[place] if place < len(aligns) else ""
        cells.append(_element(tag, inline_nodes(cell, number), **({"align": align} if align else {})))
    return _element("tr", cells)


def _code(block: t.CodeBlock, number: Number) -> Node:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.below, number)
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
        case t.Styled() | t.Link() | t.Statement():
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
