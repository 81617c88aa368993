"""Writing: a tree as nodes of JSON for a page, and as plain text. ``rag.answer.markdown`` writes Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rag.answer.tree import (
    Block,
    Break,
    Cite,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    Listing,
    Mark,
    Paragraph,
    Quotation,
    Row,
    Ruler,
    Statement,
    Styled,
    Table,
    Text,
    Tree,
    all_nodes,
)

type Node = str | dict[str, Any]
type Number = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

_TAGS = "p ul ol li strong em s code pre blockquote h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td a cite statement note"
TAGS = frozenset(_TAGS.split())
"""All that nodes have."""
LINKED = ("http://", "https://", "mailto:")
"""What a link may begin with; another one is shown as its text."""


def plain(run: Iterable[Inline]) -> str:
    """What a reader sees of a run of nodes, its citations left out."""
    return "".join(map(_plain, run))


def _plain(node: Inline) -> str:
    match node:
        case Text(text) | Code(text):
            return text
        case Break():
            return "\n"
        case Styled() | Link():
            return plain(node.children)
        case Statement():
            return plain(node.children) + (f" ({node.note})" if node.note else "")
        case _:
            return ""


def plain_text(tree: Iterable[Block]) -> str:
    """What a reader sees of ``tree``, a line a block, an item, or a row, citations left out."""
    return "\n".join(_plain_block(block) for block in tree)


def _plain_block(block: Block) -> str:
    match block:
        case Paragraph() | Heading():
            return plain(block.children)
        case CodeBlock():
            return "\n".join(filter(None, (block.text, plain(block.below))))
        case Listing():
            return "\n".join(plain_text(item.children) for item in block.items)
        case Quotation():
            return plain_text(block.children)
        case Table():
            return "\n".join(" | ".join(plain(cell) for cell in row) for row in (block.head, *block.rows))
        case Ruler():
            return ""


def nodes_of(tree: Iterable[Block], number: Number) -> list[Node]:
    """``tree`` as nodes: strings, and objects with a ``tag`` of ``TAGS`` and ``children``."""
    return [_block(block, number) for block in tree]


def _block(block: Block, number: Number) -> Node:
    match block:
        case Paragraph():
            return _element("p", inline_nodes(block.children, number))
        case Heading():
            return _element(f"h{block.level}", inline_nodes(block.children, number))
        case CodeBlock():
            return _code(block, number)
        case Listing():
            numbered = block.start is not None
            items = [_item(item, number) for item in block.items]
            return _element("ol" if numbered else "ul", items, **({"start": block.start} if numbered else {}))
        case Quotation():
            return _element("blockquote", nodes_of(block.children, number))
        case Table():
            head = _row(block.head, "th", block.aligns, number)
            rows = [_row(row, "td", block.aligns, number) for row in block.rows]
            return _element("table", [_element("thead", [head]), *([_element("tbody", rows)] if rows else [])])
        case Ruler():
            return _element("hr", [])


def _element(tag: str, children: Sequence[Node], **attributes: Any) -> Node:
    return {"tag": tag, "children": list(children), **attributes}


def _item(item: Item, number: Number) -> Node:
    """Its paragraph has no element of its own where it has but one: no item changes when the next one comes."""
    bare = sum(isinstance(block, Paragraph) for block in item.children) == 1
    children: list[Node] = []
    for block in item.children:
        if isinstance(block, Paragraph) and bare:
            children += inline_nodes(block.children, number)
        else:
            children.append(_block(block, number))
    return _element("li", children)


def _row(row: Row, tag: str, aligns: Sequence[str], number: Number) -> Node:
    cells = []
    for place, cell in enumerate(row):
        align = aligns[place] if place < len(aligns) else ""
        cells.append(_element(tag, inline_nodes(cell, number), **({"align": align} if align else {})))
    return _element("tr", cells)


def _code(block: CodeBlock, number: Number) -> Node:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.below, number)
    if not below:
        return code
    inner = below[0]
    if len(below) == 1 and isinstance(inner, dict) and inner["tag"] == "statement":
        return {**inner, "children": [code, *inner["children"]]}
    return _element("statement", [code, *below], support="uncited")


def inline_nodes(run: Iterable[Inline], number: Number) -> list[Node]:
    """A run of nodes of the tree as nodes of JSON."""
    return [made for node in run for made in _inline(node, number)]


def _inline(node: Inline, number: Number) -> list[Node]:
    match node:
        case Text(text):
            return [text]
        case Mark(raw):
            return [raw]
        case Code(text):
            return [_element("code", [text])]
        case Break(hard):
            return [_element("br", [])] if hard else ["\n"]
        case Styled(style, children):
            return [_element(style, inline_nodes(children, number))]
        case Link():
            inner = inline_nodes(node.children, number)
            leads = not node.image and node.href.lower().startswith(LINKED)
            return [_element("a", inner, href=node.href)] if leads else inner
        case Cite(chunk):
            n, chunk_id = number(chunk)
            return [_element("cite", [], n=n, chunkId=chunk_id)]
        case Statement():
            inner = inline_nodes(node.children, number)
            inner += [" ", _element("note", [node.note])] if node.note else []
            return [_element("statement", inner, support=node.support)] if node.support else inner


def cited_chunks(tree: Tree) -> tuple[int, ...]:
    """The numbers of the chunks that ``tree`` cites, in the order in which they are first cited."""
    return tuple(dict.fromkeys(node.chunk for node in all_nodes(tree) if isinstance(node, Cite)))
