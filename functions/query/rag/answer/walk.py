"""Walking an answer's tree, and changing it run by run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from rag.answer import tree as t

type Change = Callable[[t.Run], t.Run]


def mapped(blocks: Iterable[t.Block], change: Change) -> t.Tree:
    """``blocks`` with each run of inline nodes (a paragraph's, a heading's, a cell's) as ``change`` makes it.

    What holds nothing any more goes; of tables rows without a word, and never the head.
    """
    return tuple(made for block in blocks if (made := _mapped(block, change)))


def _mapped(block: t.Block, change: Change) -> t.Block | None:
    if not block.children:
        return block
    if isinstance(block, t.Words):
        words = change(block.children)
        if words is block.children:
            return block
        return replace(block, children=words) if words or isinstance(block, t.Cell) else None
    made = mapped(block.children, change)
    if isinstance(block, t.Table):
        head, *rows = made
        made = (head, *(row for row in rows if any(runs((row,)))))
    return replace(block, children=made) if made else None  # type: ignore[arg-type]  # the same kinds as before


def runs(blocks: Iterable[t.Block]) -> Iterator[t.Run]:
    """Each run of inline nodes, in the order of the text."""
    for block in blocks:
        if isinstance(block, t.Words):
            yield block.children
        else:
            yield from runs(block.children)


def nodes(run: Iterable[t.Inline]) -> Iterator[t.Inline]:
    """All inline nodes of a run, those that hold others before what they hold."""
    for node in run:
        yield node
        if isinstance(node, t.Styled | t.Link | t.Statement):
            yield from nodes(node.children)


def all_nodes(blocks: Iterable[t.Block]) -> Iterator[t.Inline]:
    """All inline nodes, in the order of the text."""
    return (node for run in runs(blocks) for node in nodes(run))


def leaves(run: t.Run, change: Callable[[t.Inline], t.Inline]) -> t.Run:
    """``run`` with each node in it that holds no other as ``change`` makes it."""
    return tuple(
        replace(node, children=leaves(node.children, change))
        if isinstance(node, t.Styled | t.Link | t.Statement)
        else change(node)
        for node in run
    )


def joined(run: Iterable[t.Inline]) -> t.Run:
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


def one_line(blocks: Iterable[t.Block]) -> t.Run:
    """The words of ``blocks`` on one line."""
    spaced = (node for run in runs(blocks) for node in (t.Text(" "), *run))
    return trimmed([t.Text(" ") if isinstance(node, t.Break) else node for node in spaced])


def trimmed(run: Sequence[t.Inline]) -> t.Run:
    """``run`` without the blanks and the ends of lines around it, and with one end of a line where several are."""
    if len(run) == 1 and isinstance(only := run[0], t.Text):  # as nearly every item and cell is
        return (t.Text(text),) if (text := only.text.strip()) else ()
    whole = joined(run)
    pairs = zip((None, *whole), whole, strict=False)
    found = [node for before, node in pairs if not (isinstance(before, t.Break) and isinstance(node, t.Break))]
    return _stripped(_stripped(found, 0, str.lstrip), -1, str.rstrip)


def _stripped(run: Sequence[t.Inline], place: int, strip: Callable[[str], str]) -> t.Run:
    """Return ``run`` without blanks at one end (``place`` 0 or -1), those in styled words there included."""
    found = list(run)
    while found:
        match found[place]:
            case t.Text(text) if text.strip():
                found[place] = t.Text(strip(text))
                break
            case t.Styled(children=inner) as styled if children := _stripped(inner, place, strip):
                found[place] = replace(styled, children=children)
                break
            case t.Text() | t.Break() | t.Styled():
                found.pop(place)
            case _:
                break
    return tuple(found)
