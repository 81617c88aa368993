"""Writing a tree as Markdown that every reader of Markdown takes for the same.

What is text is escaped; code stands between ticks that nothing else pairs with; an address stands in angle brackets or
behind a label, since no standard says where a bare one ends. What was written of a beginning of a tree is a beginning
of what is written of it all: an answer can be sent while it grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.answer import tree as t
from rag.answer.inline_markdown import InlineWriter

_RULES = {"left": ":--", "right": "--:", "center": ":-:"}


@dataclass(frozen=True, slots=True)
class WrittenMarkdown:
    """Markdown, and each citation in it with the characters from ``start`` to ``end`` that stand for it."""

    text: str
    marks: tuple[tuple[int, int, t.Cite], ...]


def markdown(tree: t.Tree, *, before: t.Block | None = None) -> WrittenMarkdown:
    """``tree``, which follows the block ``before``, as Markdown.

    Behind a block of code that is still being written there is no end of it.
    """
    writer = _BlockWriter()
    writer.blocks(tree, before=before)
    return WrittenMarkdown("".join(writer.parts), tuple(writer.marks))


class _BlockWriter(InlineWriter):
    def blocks(self, blocks: Sequence[t.Block], *, before: t.Block | None = None) -> None:
        for place, block in enumerate(blocks):
            if place:
                self._line(empty=block.gap)
            again = (
                isinstance(before, t.Listing)
                and isinstance(block, t.Listing)
                and type(before.start) is type(block.start)
            )
            self._block(block, again=again)
            before = block

    def _block(self, block: t.Block, *, again: bool) -> None:
        match block:
            case t.Paragraph():
                self.run(block.children)
            case t.Heading():
                self._put(f"{'#' * block.level} ")
                self._in_heading = True
                self.run(block.children)
                self._in_heading = False
            case t.CodeBlock():
                self._code_block(block)
            case t.Listing():
                self._list(block, again=again)
            case t.Quotation():
                self._within("> ", "> ", block.children)
            case t.Table():
                self._table(block)
            case _:
                self._put("___" if self._prefix else "---")

    def _within(self, first: str, others: str, blocks: Sequence[t.Block]) -> None:
        """``blocks`` behind what their lines begin with."""
        outside = self._prefix
        self._put(first)
        self._prefix, self._begins_line = outside + others, True
        self.blocks(blocks)
        self._prefix = outside

    def _list(self, block: t.Listing, *, again: bool) -> None:
        """``again``: right behind another list, from which other markers tell it apart."""
        for place, item in enumerate(block.children):
            if place:
                self._line(empty=item.gap)
            if block.start is None:
                marker = "* " if again else "- "
            else:
                marker = f"{block.start + place}{')' if again else '.'} "
            self._within(marker, " " * len(marker), item.children)

    def _code_block(self, block: t.CodeBlock) -> None:
        self._put(f"{block.fence}{block.language}")
        for line in block.text.split("\n") if block.text else ():
            self._line(empty=False, blank=not line)
            self._put(line)
        if block.closed:
            self._line(empty=False)
            self._put(block.fence)
        if any(not isinstance(node, t.Statement) or node.children or node.note for node in block.children):
            self._line(empty=True)
            self.run(block.children)

    def _table(self, table: t.Table) -> None:
        head, *rows = table.children
        self._row(head)
        self._line(empty=False)
        self._put(f"| {' | '.join(_RULES.get(cell.align, '---') for cell in head.children)} |")
        for row in rows:
            self._line(empty=False)
            self._row(row)

    def _row(self, row: t.Row) -> None:
        self._in_row = True
        self._put("|")
        for cell in row.children:
            self._put(" ")
            self.run(cell.children)
            self._put(" |" if cell.children else "|")
        self._in_row = False
