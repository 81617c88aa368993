"""The tree of an answer: blocks of inline nodes, all frozen.

One parse makes it (``rag.answer.read``), functions from tree to tree change it, three printers write it
(``rag.answer.printers``, ``rag.answer.markdown``). Nothing else reads an answer's text. Whatever holds something holds
it in ``children``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
class Break:
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
    """A citation of the chunk with the number ``chunk``, the best of those that its mark may mean (``among``).

    ``raw`` is its mark in Markdown, ``""`` where a link or the sentence itself stands for it. ``title`` and
    ``section`` are the names in the mark. ``written`` is False for a citation that the writer did not put there: the
    check added it, or it was found by the words of its sentence. ``place`` identifies a citation among all of an
    answer: it counts from 0, and is -1 for citations that the check added.
    """

    chunk: int
    among: tuple[int, ...]
    raw: str
    title: str = ""
    section: str = ""
    written: bool = True
    place: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, an item's words, or a cell of a row: what is held against the passages as one.

    ``number`` is its place among all of an answer; the cells of a row have one together. ``support`` is ``""`` of what
    was not looked at: an introduction, a question. ``note`` was put behind it by the check.
    """

    children: Run
    number: int
    support: Support | Literal["", "uncited"] = ""
    note: str = ""


type Inline = Text | Code | Break | Styled | Link | Mark | Cite | Statement
type Run = tuple[Inline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PositionedBlock:
    """``line`` (from 0) of the text is where a block begins; ``gap``: within an item, an empty line is before it."""

    line: int = field(default=0, compare=False)
    gap: bool = field(default=True, compare=False)


class Words(_PositionedBlock):
    """A block whose children are a run of inline nodes; those of other blocks are blocks."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Paragraph(Words):
    """A paragraph."""

    children: Run


@dataclass(frozen=True, slots=True)
class Heading(Words):
    """A heading of ``level`` 1 to 6."""

    children: Run
    level: int


@dataclass(frozen=True, slots=True)
class CodeBlock(Words):
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
class Item(_PositionedBlock):
    """An item of a list."""

    children: Tree


@dataclass(frozen=True, slots=True)
class Listing(_PositionedBlock):
    """A list; ``start`` is its first number, None where it has bullets."""

    children: tuple[Item, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Quotation(_PositionedBlock):
    """A quotation."""

    children: Tree


@dataclass(frozen=True, slots=True)
class Cell(Words):
    """A cell of a row; ``align`` is ``""``, ``left``, ``right`` or ``center``."""

    children: Run = ()
    align: str = ""


@dataclass(frozen=True, slots=True)
class Row(_PositionedBlock):
    """A row of a table."""

    children: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table(_PositionedBlock):
    """A table of rows as long as the first one, its head."""

    children: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Ruler(_PositionedBlock):
    """A thematic break."""

    children: tuple[()] = ()


type Block = Paragraph | Heading | Cell | CodeBlock | Item | Listing | Quotation | Row | Table | Ruler
type Tree = tuple[Block, ...]
