"""The tree of an answer: blocks of inline nodes, all frozen.

One parse makes it (``rag.answer.parse``), functions from tree to tree change it, three printers write it
(``rag.answer.printers``, ``rag.answer.markdown``). Nothing else reads an answer's text. Whatever holds something holds
it in ``children``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

type Support = Literal["supported", "partial", "unsupported"]
type Style = Literal["strong", "em", "s"]


@dataclass(frozen=True, slots=True)
class Text:
    """Characters as a reader sees them: nothing in them is markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Code within a line."""

    text: str


@dataclass(frozen=True, slots=True)
class LineBreak:
    """The end of a line; only a ``hard`` one is shown as one."""

    hard: bool = False


@dataclass(frozen=True, slots=True)
class Styled:
    """Emphasis, strong emphasis, or what is struck out."""

    style: Style
    children: Run


@dataclass(frozen=True, slots=True)
class Link:
    """What leads to ``href``; of an ``image`` the children stand for it."""

    href: str
    children: Run
    title: str = ""
    image: bool = False

    @property
    def bare(self) -> bool:
        """Whether it says nothing but where it leads."""
        return not self.image and self.children == (Text(self.href),)


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation as it was written, before it is known what it means."""

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
    """A sentence, an item's words, or a cell of a row: what is held against the passages as one.

    ``number`` is its place among all of an answer; the cells of a row have one together. ``support`` is ``""`` of what
    was not looked at: an introduction, a question. ``note`` was put behind it by the check.
    """

    children: Run
    number: int
    support: Support | Literal["", "uncited"] = ""
    note: str = ""


type Inline = Text | Code | LineBreak | Styled | Link | Mark | Cite | ClaimSpan
type Run = tuple[Inline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PositionedBlock:
    """``line`` (from 0) of the text is where a block begins; ``gap``: within an item, an empty line is before it."""

    line: int = field(default=0, compare=False)
    gap: bool = field(default=True, compare=False)


class LeafBlock(_PositionedBlock):
    """A block whose children are a run of inline nodes; those of other blocks are blocks."""

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
    """Lines of code in ``language`` between two lines of ``fence``; the children stand below it, as its statement.

    One that has not ``ended`` has no closing fence in what was read. One that is not ``closed`` is printed without it.
    """

    text: str
    language: str = ""
    fence: str = "```"
    children: Run = ()
    ended: bool = field(default=True, compare=False)
    closed: bool = True


@dataclass(frozen=True, slots=True)
class ListItem(_PositionedBlock):
    """An item of a list."""

    children: Tree


@dataclass(frozen=True, slots=True)
class ListBlock(_PositionedBlock):
    """A list; ``start`` is its first number, None where it has bullets."""

    children: tuple[ListItem, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class BlockQuote(_PositionedBlock):
    """A quotation."""

    children: Tree


@dataclass(frozen=True, slots=True)
class TableCell(LeafBlock):
    """A cell of a row; ``align`` is ``""``, ``left``, ``right`` or ``center``."""

    children: Run = ()
    align: str = ""


@dataclass(frozen=True, slots=True)
class TableRow(_PositionedBlock):
    """A row of a table."""

    children: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True)
class TableBlock(_PositionedBlock):
    """A table of rows as long as the first one, its head."""

    children: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class ThematicBreak(_PositionedBlock):
    """A thematic break."""

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


type Change = Callable[[Run], Run]


def map_runs(blocks: Iterable[Block], change: Change) -> Tree:
    """``blocks`` with each run of inline nodes (a paragraph's, a heading's, a cell's) as ``change`` makes it.

    What holds nothing any more goes; of tables rows without a word, and never the head.
    """
    return tuple(made for block in blocks if (made := _mapped(block, change)))


def _mapped(block: Block, change: Change) -> Block | None:
    if not block.children:
        return block
    if isinstance(block, LeafBlock):
        words = change(block.children)
        if words is block.children:
            return block
        return replace(block, children=words) if words or isinstance(block, TableCell) else None
    made = map_runs(block.children, change)
    if isinstance(block, TableBlock):
        head, *rows = made
        made = (head, *(row for row in rows if any(iter_runs((row,)))))
    return replace(block, children=made) if made else None  # type: ignore[arg-type]  # the same kinds as before


def iter_runs(blocks: Iterable[Block]) -> Iterator[Run]:
    """Each run of inline nodes, in the order of the text."""
    for block in blocks:
        if isinstance(block, LeafBlock):
            yield block.children
        else:
            yield from iter_runs(block.children)


def walk_run(run: Iterable[Inline]) -> Iterator[Inline]:
    """All inline nodes of a run, those that hold others before what they hold."""
    for node in run:
        yield node
        if isinstance(node, Styled | Link | ClaimSpan):
            yield from walk_run(node.children)


def walk(blocks: Iterable[Block]) -> Iterator[Inline]:
    """All inline nodes, in the order of the text."""
    return (node for run in iter_runs(blocks) for node in walk_run(run))


def map_leaves(run: Run, change: Callable[[Inline], Inline]) -> Run:
    """``run`` with each node in it that holds no other as ``change`` makes it."""
    return tuple(
        replace(node, children=map_leaves(node.children, change))
        if isinstance(node, Styled | Link | ClaimSpan)
        else change(node)
        for node in run
    )


def merge_text(run: Iterable[Inline]) -> Run:
    """``run`` with neighbouring texts as one, and without empty ones."""
    found: list[Inline] = []
    for node in run:
        if isinstance(node, Text) and found and isinstance(before := found[-1], Text):
            found[-1] = Text(before.text + node.text)
        elif not _is_empty(node):
            found.append(node)
    return tuple(found)


def _is_empty(node: Inline) -> bool:
    if isinstance(node, Text | Code):
        return not node.text
    return isinstance(node, Styled | Link) and not node.children


def join_lines(blocks: Iterable[Block]) -> Run:
    """The words of ``blocks`` on one line."""
    spaced = (node for run in iter_runs(blocks) for node in (Text(" "), *run))
    return trim_run([Text(" ") if isinstance(node, LineBreak) else node for node in spaced])


def trim_run(run: Sequence[Inline]) -> Run:
    """``run`` without the blanks and the ends of lines around it, and with one end of a line where several are."""
    if len(run) == 1 and isinstance(only := run[0], Text):  # as nearly every item and cell is
        return (Text(text),) if (text := only.text.strip()) else ()
    whole = merge_text(run)
    pairs = zip((None, *whole), whole, strict=False)
    found = [node for before, node in pairs if not (isinstance(before, LineBreak) and isinstance(node, LineBreak))]
    return _stripped(_stripped(found, 0, str.lstrip), -1, str.rstrip)


def _stripped(run: Sequence[Inline], place: int, strip: Callable[[str], str]) -> Run:
    """Return ``run`` without blanks at one end (``place`` 0 or -1), those in styled words there included."""
    found = list(run)
    while found:
        match found[place]:
            case Text(text) if text.strip():
                found[place] = Text(strip(text))
                break
            case Styled(children=inner) as styled if children := _stripped(inner, place, strip):
                found[place] = replace(styled, children=children)
                break
            case Text() | LineBreak() | Styled():
                found.pop(place)
            case _:
                break
    return tuple(found)


def cited_chunks(tree: Tree) -> tuple[int, ...]:
    """The numbers of the chunks that ``tree`` cites, in the order in which they are first cited."""
    return tuple(dict.fromkeys(node.chunk for node in walk(tree) if isinstance(node, Cite)))
