"""The tree of an answer: blocks of inline nodes, all frozen.

One parse makes it (``rag.answer.read``), functions from tree to tree change it, three printers write it
(``rag.answer.write``). Nothing else reads an answer's text.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What leads to ``href``; of an ``image`` the children stand for it."""

    href: str
    children: tuple[Inline, ...]
    title: str = ""
    image: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation as it was written, before it is known what it means."""

    raw: str


@dataclass(frozen=True, slots=True)
class Cite:
    """A reference to the chunk of that number, the one of all that the mark may mean (``among``) which says most of it.

    ``raw`` is what stands for it in Markdown, ``""`` where a link or the sentence itself does. ``title`` and
    ``section`` are what it names. ``written`` says that the writer put it there; else the check did, or it was found by
    the words of its sentence.
    """

    chunk: int
    among: tuple[int, ...]
    raw: str
    title: str = ""
    section: str = ""
    written: bool = True


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, an item's words, or a cell of a row: what is held against the passages as one.

    ``number`` is its place among all of an answer; the cells of a row have one together. ``support`` is ``""`` of what
    was not looked at: an introduction, a question. ``note`` was put behind it by the check.
    """

    children: tuple[Inline, ...]
    number: int
    support: Support | Literal["", "uncited"] = ""
    note: str = ""


type Inline = Text | Code | Break | Styled | Link | Mark | Cite | Statement


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of ``level`` 1 to 6."""

    level: int
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of code in ``language`` between two lines of ``fence``; ``below`` is the statement's that it is.

    One that is not ``closed`` is still being written.
    """

    text: str
    language: str = ""
    fence: str = "```"
    below: tuple[Inline, ...] = ()
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list. ``gaps`` tell, for each of its blocks, whether an empty line stands before it."""

    children: tuple[Block, ...]
    gaps: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; ``start`` is its first number, None where it has bullets."""

    items: tuple[Item, ...]
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation."""

    children: tuple[Block, ...]


type Cell = tuple[Inline, ...]
type Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``aligns`` has ``""``, ``left``, ``right`` or ``center`` for each column."""

    head: Row
    rows: tuple[Row, ...]
    aligns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ruler:
    """A thematic break."""


type Block = Paragraph | Heading | CodeBlock | Listing | Quotation | Table | Ruler
type Tree = tuple[Block, ...]
