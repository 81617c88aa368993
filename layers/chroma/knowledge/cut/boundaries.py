"""The spans of a text at whose ends a chunk may be cut, from whole blocks down to lines and words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from knowledge.read.markdown import Block

CODE = ("fence", "code_block", "table")
"""Blocks that are cut between lines only, and never repeated as an overlap."""

LINES = ("line", "code", "row")
"""Units that can be cut between words only."""

_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]+[\"'”’»)\]*_`]*\s+(?=[^\sa-z])|[。！？｡।॥؟۔።។៕။]+[」』”）]*\s*|\n[^\S\n]*\n\s*"
)
_GAP = re.compile("(?<=[\u0e01-\u0e4e\u0e80-\u0ece])\\s+(?=[\u0e01-\u0e4e\u0e80-\u0ece])")
"""Between two phrases, or sentences, of Thai or Lao, which have no other mark for the end."""
PHRASES_CHARS = 120
"""Characters of Thai or Lao that count, up to the next gap, as a sentence: the length of an English one."""
_LAST_WORD = re.compile(r"[\w.]+$")
_ABBREVIATION = re.compile(
    r"(?i:approx|art|cf|co|dr|e\.g|eg|etc|fig|i\.e|ie|inc|jr|ltd|mrs?|ms|nos?|pp?|prof|sec|sr|st|u\.[ks]|vol|vs)|[A-Z]"
)
_VISIBLE = re.compile(r"\S")
_NEWLINE = re.compile("\n")
_SPACES = " \n\t\u3000\u00a0"


@dataclass(frozen=True, slots=True)
class Unit:
    """Characters ``start`` to ``end`` of the source, without surrounding white space.

    ``kind`` is a block's kind, ``"sentence"``, ``"line"`` (of text), ``"code"`` (a line) or ``"row"``. ``opener`` is
    repeated by a chunk that begins here (a table's header, a fence's first line), ``closer`` is added to a chunk that
    ends here.
    """

    start: int
    end: int
    kind: str
    block: Block | None = None
    opener: str = ""
    closer: str = ""

    def __len__(self) -> int:
        return self.end - self.start


class SourceText:
    """A text with the offsets of its lines, and methods that cut spans of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._has_gaps = not text.isascii() and _GAP.search(text) is not None
        self._offsets = [0, *(match.end() for match in _NEWLINE.finditer(text))]

    def offset(self, line: int) -> int:
        """Return the offset of ``line`` (from 0), the text's end behind the last line."""
        return self._offsets[line] if line < len(self._offsets) else len(self.text)

    def from_blocks(self, blocks: Sequence[Block], start: int, end: int) -> list[Unit]:
        """Return a unit for each block; they cover ``start`` to ``end``, the gap between two blocks in the first one.

        Text between code or a table and another block is a paragraph.
        """
        starts = [max(start, self.offset(block.first)) for block in blocks] + [end]
        if blocks and blocks[0].kind not in CODE:
            starts[0] = start
        units = self.trimmed(start, starts[0], "paragraph")
        for block, first, following in zip(blocks, starts, starts[1:], strict=False):
            stop = min(following, self.offset(block.end)) if block.kind in CODE else following
            units += self.trimmed(first, stop, block.kind, block)
            units += self.trimmed(stop, following, "paragraph")
        return units

    def trimmed(self, start: int, end: int, kind: str, block: Block | None = None) -> list[Unit]:
        """Return the unit from ``start`` to ``end`` without surrounding white space, none if nothing is left."""
        piece = self.text[start:end]
        kept = len(piece.rstrip())
        return [Unit(end - len(piece.lstrip()), start + kept, kind, block)] if kept else []

    def indentation(self, unit: Unit) -> int:
        """Return the number of blanks before ``unit`` on its line, 0 if there is other text."""
        line = self.text.rfind("\n", 0, unit.start) + 1
        return 0 if self.text[line : unit.start].strip() else unit.start - line

    def paragraphs(self) -> list[Unit]:
        """Return the paragraphs of a plain text, which blank lines separate."""
        return self._cut_at(0, len(self.text), (m.end() for m in _PARAGRAPH_BREAK.finditer(self.text)), "paragraph")

    def parts(self, unit: Unit) -> list[Unit]:
        """Cut ``unit``, whose kind is not in ``LINES``, one step finer."""
        if unit.block and unit.block.children:
            return self.from_blocks(unit.block.children, unit.start, unit.end)
        if unit.kind in CODE:
            return self._rows(unit)
        if unit.kind == "sentence":
            return self._cut_at(unit.start, unit.end, self._line_starts(unit), "line")
        return self._cut_at(unit.start, unit.end, self.sentence_starts(unit.start, unit.end), "sentence")

    def sentence_starts(self, start: int, end: int) -> Iterator[int]:
        """Yield the offsets between ``start`` and ``end``, both excluded, at which a sentence begins."""
        if not self._has_gaps:
            yield from self._sentence_ends(start, end)
            return
        # Beside these, the first gap in each stretch of PHRASES_CHARS or more.
        certain = set(self._sentence_ends(start, end))
        for place in sorted(certain.union(gap.end() for gap in _GAP.finditer(self.text, start, end))):
            if place in certain or place - start >= PHRASES_CHARS:
                yield place
                start = place

    def _sentence_ends(self, start: int, end: int) -> Iterator[int]:
        for match in _SENTENCE_END.finditer(self.text, start, end):
            word = _LAST_WORD.search(self.text[max(start, match.start() - 12) : match.start()])
            abbreviated = word and match[0].startswith(".") and _ABBREVIATION.fullmatch(word[0])
            if not abbreviated and match.end() < end:
                yield match.end()

    def at_word(self, unit: Unit, room: int) -> tuple[Unit, list[Unit]]:
        """Cut off the first ``room`` >= 1 characters of ``unit``, between words if one fits; return both parts."""
        limit = unit.start + room
        if limit >= unit.end:
            return unit, []
        cut = max(self.text.rfind(space, unit.start + 1, limit + 1) for space in _SPACES)
        if cut < 0:
            cut = limit
            while cut > unit.start + 1 and unicodedata.combining(self.text[cut]):
                cut -= 1
        head, *_ = self.trimmed(unit.start, cut, unit.kind)
        rest = _VISIBLE.search(self.text, cut, unit.end)
        return head, [Unit(rest.start(), unit.end, unit.kind)] if rest else []

    def _rows(self, unit: Unit) -> list[Unit]:
        """Return the lines of a fence, an indented code or a table, the first and the last ones with their frame."""
        cuts = list(self._line_starts(unit))
        if unit.kind == "code_block" or unit.block is None:
            return self._cut_at(unit.start, unit.end, cuts, "code")
        if unit.kind == "table":
            frame, closer, kind = 2, "", "row"
        else:
            before = self.text[unit.start : unit.end].split("\n", 1)[0].partition(unit.block.markup)[0]
            frame, closer, kind = 1, re.sub(r"[^\s>]", " ", before) + unit.block.markup, "code"
            cuts = cuts[:-1] if self.text[unit.start : unit.end].rstrip().endswith(unit.block.markup) else cuts
        if len(cuts) <= frame:
            return [Unit(unit.start, unit.end, kind)]
        opener = self.text[unit.start : cuts[frame - 1]].rstrip()
        rows = self._cut_at(unit.start, unit.end, cuts[frame:], kind)
        return [
            Unit(row.start, row.end, kind, opener=opener if n else "", closer=closer if row is not rows[-1] else "")
            for n, row in enumerate(rows)
        ]

    def _line_starts(self, unit: Unit) -> Iterator[int]:
        return (match.end() for match in _NEWLINE.finditer(self.text, unit.start, unit.end))

    def _cut_at(self, start: int, end: int, cuts: Iterator[int] | Sequence[int], kind: str) -> list[Unit]:
        bounds = [start, *cuts, end]
        return [unit for a, b in pairwise(bounds) for unit in self.trimmed(a, b, kind)]
