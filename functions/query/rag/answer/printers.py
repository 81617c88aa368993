"""Render a tree as plain text, and as JSON nodes for a page. ``rag.answer.markdown`` renders Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rag.answer import tree as t

type JsonNode = str | dict[str, Any]
type ReferenceLookup = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

_LINK_SCHEMES = ("http://", "https://", "mailto:")
"""A link to any other address is rendered as its text."""


def inline_text(run: Iterable[t.Inline]) -> str:
    """Return the plain text of a run of nodes, without citations."""
    return "".join(map(_node_text, run))


def _node_text(node: t.Inline) -> str:
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
    """Return the plain text of ``tree``, one line for each block, item, or row, without citations."""
    return "\n".join(map(_block_text, tree))


def _block_text(block: t.Block) -> str:
    if isinstance(block, t.CodeBlock):
        return "\n".join(filter(None, (block.text, inline_text(block.children))))
    if isinstance(block, t.LeafBlock):
        return inline_text(block.children)
    return (" | " if isinstance(block, t.TableRow) else "\n").join(map(_block_text, block.children))


def json_nodes(tree: Iterable[t.Block], reference: ReferenceLookup) -> list[JsonNode]:
    """Return ``tree`` as JSON nodes: strings, and objects with a ``tag`` and ``children``."""
    return [_block_node(block, reference) for block in tree]


def _block_node(block: t.Block, reference: ReferenceLookup) -> JsonNode:
    match block:
        case t.CodeBlock():
            return _code_node(block, reference)
        case t.ListItem():
            return _item_node(block, reference)
        case t.TableBlock():
            head, *rows = block.children
            body = [_element("tbody", [_row_node(row, reference, "td") for row in rows])] if rows else []
            return _element("table", [_element("thead", [_row_node(head, reference, "th")]), *body])
        case t.Heading():
            return _element(f"h{block.level}", inline_nodes(block.children, reference))
        case t.LeafBlock():
            return _element("p", inline_nodes(block.children, reference))
        case t.ListBlock() if block.start is not None:
            return _element("ol", json_nodes(block.children, reference), start=block.start)
        case _:
            tag = {t.ListBlock: "ul", t.BlockQuote: "blockquote"}.get(type(block), "hr")
            return _element(tag, json_nodes(block.children, reference))


def _element(tag: str, children: list[JsonNode], **attributes: Any) -> dict[str, Any]:
    return {"tag": tag, "children": children, **attributes}


def _row_node(row: t.TableRow, reference: ReferenceLookup, tag: str) -> JsonNode:
    cells: list[JsonNode] = []
    for cell in row.children:
        align = {"align": cell.align} if cell.align else {}
        cells.append(_element(tag, inline_nodes(cell.children, reference), **align))
    return _element("tr", cells)


def _item_node(item: t.ListItem, reference: ReferenceLookup) -> JsonNode:
    """Render an item; its only paragraph has no element, so that a streamed item stays when the next one comes."""
    has_one_paragraph = sum(isinstance(block, t.Paragraph) for block in item.children) == 1
    children: list[JsonNode] = []
    for block in item.children:
        if has_one_paragraph and isinstance(block, t.Paragraph):
            children += inline_nodes(block.children, reference)
        else:
            children.append(_block_node(block, reference))
    return _element("li", children)


def _code_node(block: t.CodeBlock, reference: ReferenceLookup) -> JsonNode:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.children, reference)
    if not below:
        return code
    if len(below) == 1 and isinstance(claim := below[0], dict) and claim["tag"] == "statement":
        return {**claim, "children": [code, *claim["children"]]}
    return _element("statement", [code, *below], support="uncited")


def inline_nodes(run: Iterable[t.Inline], reference: ReferenceLookup) -> list[JsonNode]:
    """Return a run of the tree's nodes as JSON nodes."""
    return [rendered for node in run for rendered in _render_node(node, reference)]


def _render_node(node: t.Inline, reference: ReferenceLookup) -> list[JsonNode]:
    match node:
        case t.Text(text) | t.Mark(text):
            return [text]
        case t.Code(text):
            return [_element("code", [text])]
        case t.LineBreak(hard):
            return [_element("br", [])] if hard else ["\n"]
        case t.Cite(chunk):
            n, chunk_id = reference(chunk)
            return [_element("cite", [], n=n, chunkId=chunk_id)]
    inner = inline_nodes(node.children, reference)
    match node:
        case t.Styled(style):
            return [_element(style, inner)]
        case t.Link(href):
            is_link = not node.image and href.lower().startswith(_LINK_SCHEMES)
            return [_element("a", inner, href=href)] if is_link else inner
        case t.ClaimSpan():
            noted = [*inner, " ", _element("note", [node.note])] if node.note else inner
            return [_element("statement", noted, support=node.support)] if node.support else noted
