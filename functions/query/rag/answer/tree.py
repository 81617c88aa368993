"""The tree of an answer: frozen blocks and inline nodes, with functions that walk and change them.

``rag.answer.parse`` makes a tree, functions from tree to tree change it, and ``rag.answer.render`` renders it. A node's
parts are always its ``children``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rag.values.answer import Support

type Style = Literal["strong", "em", "s"]


@dataclass(frozen=True, slots=True)
class Text:
    """Plain characters, without markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Code within a line."""

    text: str


@dataclass(frozen=True, slots=True)
class LineBreak:
    """The end of a line. Only a ``hard`` one breaks the line for a reader."""

    hard: bool = False


@dataclass(frozen=True, slots=True)
class Styled:
    """Emphasized, strong, or struck out nodes."""

    style: Style
    children: Run


@dataclass(frozen=True, slots=True)
class Link:
    """A link to ``href``. The children of an ``image`` are its alternative text."""

    href: str
    children: Run
    title: str = ""
    image: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether its only text is its address."""
        return not self.image and self.children == (Text(self.href),)


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation mark as the writer wrote it, not yet resolved."""

    raw: str


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation of the chunk with the number ``chunk``, the best of those that its mark may mean (``candidates``).

    ``raw`` is its mark in Markdown, ``""`` where a link or the sentence itself stands for it. ``title`` and
    ``section`` are the names in the mark. ``is_explicit`` is False where not the writer put it: the check added
    it, or it was found by the words of its sentence. ``place`` identifies a citation among all of an answer: it counts
    from 0, and is -1 for citations that the check added.
    """

    chunk: int
    candidates: tuple[int, ...]
    raw: str
    title: str = ""
    section: str = ""
    is_explicit: bool = True
    place: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class ClaimSpan:
    """The words of one claim: a sentence, an item's text, or a table cell.

    ``number`` counts the claims of an answer from 0; the cells of a row share one. ``support`` is ``""`` where nothing
    was checked, as in an introduction or a question. ``note`` is the remark that the check puts behind the claim.
    """

    children: Run
    number: int
    support: Support | Literal["", "uncited"] = ""
    note: str = ""


type Inline = Text | Code | LineBreak | Styled | Link | Mark | Cite | ClaimSpan
type Run = tuple[Inline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PositionedBlock:
    """A block that begins in ``line`` (from 0) of the text. ``gap``: within an item, an empty line precedes it."""

    line: int = field(default=0, compare=False)
    gap: bool = field(default=True, compare=False)


class LeafBlock(_PositionedBlock):
    """A block whose children are inline nodes; the children of other blocks are blocks."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Paragraph(LeafBlock):
    """A paragraph."""

    children: Run


@dataclass(frozen=True, slots=True)
class Heading(LeafBlock):
    """A heading of ``level`` 1 to 6."""

    children: Run
    level: int


@dataclass(frozen=True, slots=True)
class CodeBlock(LeafBlock):
    """Lines of code in ``language`` between two lines of ``fence``. The children are its claim, rendered below it.

    ``has_end`` says whether the parsed text had the closing fence; ``render_end`` whether it is rendered.
    """

    text: str
    language: str = ""
    fence: str = "```"
    children: Run = ()
    has_end: bool = field(default=True, compare=False)
    render_end: bool = True


@dataclass(frozen=True, slots=True)
class ListItem(_PositionedBlock):
    """An item of a list."""

    children: Tree


@dataclass(frozen=True, slots=True)
class ListBlock(_PositionedBlock):
    """A list, numbered from ``start`` on; with bullets where that is None."""

    children: tuple[ListItem, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class BlockQuote(_PositionedBlock):
    """A block quote."""

    children: Tree


@dataclass(frozen=True, slots=True)
class TableCell(LeafBlock):
    """A table cell; ``align`` is ``""``, ``left``, ``right`` or ``center``."""

    children: Run = ()
    align: str = ""


@dataclass(frozen=True, slots=True)
class TableRow(_PositionedBlock):
    """A table row."""

    children: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True)
class TableBlock(_PositionedBlock):
    """A table of rows of one length; the first row is its head."""

    children: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class ThematicBreak(_PositionedBlock):
    """A thematic break: a line across the page."""

    children: tuple[()] = ()


type Block = (
    Paragraph
    | Heading
    | TableCell
    | CodeBlock
    | ListItem
    | ListBlock
    | BlockQuote
    | TableRow
    | TableBlock
    | ThematicBreak
)
type Tree = tuple[Block, ...]


def iter_runs(blocks: Iterable[Block]) -> Iterator[Run]:
    """Yield each run of inline nodes, in the order of the text."""
    for block in blocks:
        if isinstance(block, LeafBlock):
            yield block.children
        else:
            yield from iter_runs(block.children)


def walk(blocks: Iterable[Block]) -> Iterator[Inline]:
    """Yield all inline nodes, in the order of the text."""
    return (node for run in iter_runs(blocks) for node in walk_run(run))


def walk_run(run: Iterable[Inline]) -> Iterator[Inline]:
    """Yield all inline nodes of a run, each before its children."""
    for node in run:
        yield node
        if isinstance(node, Styled | Link | ClaimSpan):
            yield from walk_run(node.children)


def cited_chunks(tree: Iterable[Block]) -> tuple[int, ...]:
    """Return the numbers of the cited chunks, in the order of their first citations."""
    return tuple(dict.fromkeys(node.chunk for node in walk(tree) if isinstance(node, Cite)))


def map_runs(blocks: Iterable[Block], change: Callable[[Run], Run]) -> Tree:
    """Return ``blocks`` with ``change`` applied to each run of inline nodes.

    Blocks that become empty are left out, and so are table rows without words, except the head.
    """
    mapped: list[Block] = []
    for block in blocks:
        if not block.children:
            mapped.append(block)
        elif isinstance(block, LeafBlock):
            run = change(block.children)
            if run or isinstance(block, TableCell):
                mapped.append(block if run is block.children else replace(block, children=run))
        elif children := map_runs(block.children, change):
            if isinstance(block, TableBlock):
                children = tuple(row for row in children if row is children[0] or any(iter_runs((row,))))
            mapped.append(replace(block, children=children))  # type: ignore[arg-type]  # the same kinds as before
    return tuple(mapped)


def map_leaves(run: Run, change: Callable[[Inline], Inline]) -> Run:
    """Return ``run`` with ``change`` applied to each node in it that has no children."""
    return tuple(
        replace(node, children=map_leaves(node.children, change))
        if isinstance(node, Styled | Link | ClaimSpan)
        else change(node)
        for node in run
    )


def merge_text(run: Iterable[Inline]) -> Run:
    """Return ``run`` with neighbouring texts merged and empty nodes removed."""
    merged: list[Inline] = []
    for node in run:
        match node:
            case Text("") | Code("") | Styled(children=()) | Link(children=()):
                continue
            case Text(text) if merged and isinstance(before := merged[-1], Text):
                merged[-1] = Text(before.text + text)
            case _:
                merged.append(node)
    return tuple(merged)


def join_lines(blocks: Iterable[Block]) -> Run:
    """Return the words of ``blocks`` on one line."""
    spaced = (node for run in iter_runs(blocks) for node in (Text(" "), *run))
    return trim_run([Text(" ") if isinstance(node, LineBreak) else node for node in spaced])


def trim_run(run: Sequence[Inline]) -> Run:
    """Return ``run`` without blanks and line breaks at its ends, and without repeated line breaks."""
    if len(run) == 1 and isinstance(only := run[0], Text):  # as nearly every item and cell is
        return (Text(text),) if (text := only.text.strip()) else ()
    whole = merge_text(run)
    pairs = zip((None, *whole), whole, strict=False)
    single = [node for before, node in pairs if not (isinstance(before, LineBreak) and isinstance(node, LineBreak))]
    return _strip_end(_strip_end(single, 0, str.lstrip), -1, str.rstrip)


def _strip_end(run: Sequence[Inline], place: int, strip: Callable[[str], str]) -> Run:
    """Return ``run`` without blanks at one end (``place`` 0 or -1), including those in styled words there."""
    rest = list(run)
    while rest:
        match rest[place]:
            case Text(text) if text.strip():
                rest[place] = Text(strip(text))
                break
            case Styled(children=inner) as styled if children := _strip_end(inner, place, strip):
                rest[place] = replace(styled, children=children)
                break
            case Text() | LineBreak() | Styled():
                rest.pop(place)
            case _:
                break
    return tuple(rest)


def inline_text(run: Iterable[Inline]) -> str:
    """Return the plain text of a run of nodes, without citations."""
    return "".join(map(_node_text, run))


def _node_text(node: Inline) -> str:
    match node:
        case Text(text) | Code(text):
            return text
        case LineBreak():
            return "\n"
        case Styled() | Link():
            return inline_text(node.children)
        case ClaimSpan():
            return inline_text(node.children) + (f" ({node.note})" if node.note else "")
        case _:
            return ""


def plain_text(tree: Iterable[Block]) -> str:
    """Return the plain text of ``tree``, one line for each block, item, or row, without citations."""
    return "\n".join(map(_block_text, tree))


def _block_text(block: Block) -> str:
    if isinstance(block, CodeBlock):
        return "\n".join(filter(None, (block.text, inline_text(block.children))))
    if isinstance(block, LeafBlock):
        return inline_text(block.children)
    return (" | " if isinstance(block, TableRow) else "\n").join(map(_block_text, block.children))
