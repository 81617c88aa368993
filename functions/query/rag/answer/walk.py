"""Walking an answer's tree, and changing it run by run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from rag.answer import tree as t

type Change = Callable[[tuple[t.Inline, ...]], tuple[t.Inline, ...]]


def mapped(blocks: Iterable[t.Block], change: Change) -> t.Tree:
    """``blocks`` with each run of inline nodes (a paragraph's, a heading's, a cell's) as ``change`` makes it.

    Paragraphs of which nothing is left go, and items and quotations of nothing.
    """
    return tuple(made for block in blocks if (made := _mapped(block, change)) is not None)


def _mapped(block: t.Block, change: Change) -> t.Block | None:
    match block:
        case t.Paragraph() | t.Heading():
            children = change(block.children)
            return replace(block, children=children) if children else None
        case t.Listing():
            return _list(block, change)
        case t.Quotation():
            inner = mapped(block.children, change)
            return t.Quotation(inner) if inner else None
        case t.Table():
            head, *rows = (tuple(map(change, row)) for row in (block.head, *block.rows))
            return replace(block, head=head, rows=tuple(filter(any, rows)))
        case t.CodeBlock(below=(_, *_)):
            below = change(block.below)
            return replace(block, below=below) if below else None
        case _:
            return block


def _list(block: t.Listing, change: Change) -> t.Listing | None:
    items = tuple(item for one in block.items if (item := _item(one, change)).children)
    return replace(block, items=items) if items else None


def _item(item: t.Item, change: Change) -> t.Item:
    made = [(_mapped(block, change), gap) for block, gap in zip(item.children, item.gaps, strict=True)]
    kept = [(block, gap) for block, gap in made if block is not None]
    return t.Item(tuple(block for block, _ in kept), tuple(gap for _, gap in kept))


def runs(blocks: Iterable[t.Block]) -> Iterator[tuple[t.Inline, ...]]:
    """Each run of inline nodes, in the order of the text."""
    for block in blocks:
        match block:
            case t.Paragraph() | t.Heading():
                yield block.children
            case t.Listing():
                for item in block.items:
                    yield from runs(item.children)
            case t.Quotation():
                yield from runs(block.children)
            case t.Table():
                for row in (block.head, *block.rows):
                    yield from row
            case t.CodeBlock():
                yield block.below
            case _:
                pass


def nodes(run: Iterable[t.Inline]) -> Iterator[t.Inline]:
    """All inline nodes of a run, those that hold others before what they hold."""
    for node in run:
        yield node
        if isinstance(node, t.Styled | t.Link | t.Statement):
            yield from nodes(node.children)


def all_nodes(blocks: Iterable[t.Block]) -> Iterator[t.Inline]:
    """All inline nodes, in the order of the text."""
    return (node for run in runs(blocks) for node in nodes(run))


def joined(run: Iterable[t.Inline]) -> tuple[t.Inline, ...]:
    """``run`` with neighbouring texts as one, and without empty ones."""
    found: list[t.Inline] = []
    for node in run:
        if isinstance(node, t.Text) and found and isinstance(before := found[-1], t.Text):
            found[-1] = t.Text(before.text + node.text)
        elif not _is_empty(node):
            found.append(node)
    return tuple(found)


def _is_empty(node: t.Inline) -> bool:
    if isinstance(node, t.Text | t.Code):
        return not node.text
    return isinstance(node, t.Styled | t.Link) and not node.children


def one_line(blocks: Sequence[t.Block]) -> tuple[t.Inline, ...]:
    """The words of ``blocks`` on one line."""
    found: list[t.Inline] = []
    for block in blocks:
        if isinstance(block, t.Paragraph | t.Heading):
            found += [t.Text(" "), *block.children] if found else block.children
    spaced: list[t.Inline] = [t.Text(" ") if isinstance(node, t.Break) else node for node in found]
    return joined(spaced)


def trimmed(run: Sequence[t.Inline]) -> tuple[t.Inline, ...]:
    """``run`` without the blanks and the ends of lines around it, and with one end of a line where several are."""
    whole = joined(run)
    pairs = zip((None, *whole), whole, strict=False)
    found = [node for before, node in pairs if not (isinstance(before, t.Break) and isinstance(node, t.Break))]
    for place, strip in ((0, str.lstrip), (-1, str.rstrip)):
        while found and _is_blank(found[place]):
            found.pop(place)
        if found and isinstance(node := found[place], t.Text):
            found[place] = t.Text(strip(node.text))
    return tuple(found)


def _is_blank(node: t.Inline) -> bool:
    return isinstance(node, t.Break) or (isinstance(node, t.Text) and not node.text.strip())
