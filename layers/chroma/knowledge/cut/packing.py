"""The packing of one section's units into chunks: the largest that fit, each with an overlap of the one before."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from knowledge.cut.boundaries import CODE, LINES, SourceText, Unit
from knowledge.read.markdown import Block

_WHOLE = (*CODE, "code", "row")  # a heading rather stands alone than that one of these is cut
_SPACE = re.compile(r"\s+")
_QUOTE = re.compile(r"[^\S\n]{0,3}(?:>[^\S\n]?)+")
_MARK = re.compile(r"[\s>]*")


@dataclass(slots=True)
class _Draft:
    """An unfinished text: ``prefix``, the source from ``start`` (with the overlap) to ``end``, ``closer``.

    Its own body begins at ``floor``: the next text's overlap goes back no further. ``framed``: a fence at the end of
    the text has its opening line in it.
    """

    prefix: str
    start: int
    end: int
    floor: int
    framed: bool
    closer: str = ""
    heading_only: bool = True

    def size_with(self, unit: Unit) -> int:
        closer = len(unit.closer) + 1 if unit.closer else 0
        return len(self.prefix) + unit.end - self.start + closer

    def add(self, unit: Unit) -> None:
        if self.heading_only:
            self.floor = unit.start if unit.kind != "heading" else unit.end
        self.end, self.closer = unit.end, unit.closer
        self.heading_only = self.heading_only and unit.kind == "heading"

    def waits_for(self, unit: Unit) -> bool:
        """Whether the draft is a heading that needs the beginning of ``unit``."""
        return self.heading_only and unit.kind not in _WHOLE


class Packer:
    """Packs units of ``source`` into texts of at most ``max_chars`` with at most ``overlap`` characters repeated."""

    def __init__(self, source: SourceText, *, max_chars: int, overlap: int, blocks: Sequence[Block] = ()) -> None:
        self.source = source
        self.max_chars = max_chars
        self._overlap = overlap
        self._is_markdown = bool(blocks)  # in a plain text ">" is a sign like others
        self._code = [(source.offset(b.first), source.offset(b.end)) for b in _code_blocks(blocks)]
        self._code_starts = [start for start, _ in self._code]

    def pack(self, units: Sequence[Unit], *, prefix: str = "") -> Iterator[str]:
        """Yield the texts of one section. ``prefix`` (shorter than a text may be) begins the first one.

        A heading is not left alone at a text's end unless code that must not be cut follows it.
        """
        todo = list(reversed(units))
        draft: _Draft | None = None
        floor = units[0].start if units else 0
        while todo:
            unit = todo.pop()
            if draft and draft.size_with(unit) <= self.max_chars:
                draft.add(unit)
                continue
            fits_alone = len(unit) <= self.max_chars
            if draft and fits_alone and not draft.waits_for(unit):
                floor = yield from self._finished(draft, floor)
                draft = None
            if fits_alone and draft is None:
                draft = self._begin(unit, prefix, floor)
                draft.add(unit)
            elif unit.kind not in LINES:
                todo += reversed(self.source.parts(unit))
                continue
            else:
                if draft and not self._takes_part(draft, unit):
                    floor = yield from self._finished(draft, floor)
                    draft = None
                draft = draft or self._begin(unit, prefix, floor)
                head, rest = self.source.at_word(unit, self._room(draft, unit))
                draft.add(head)
                todo += rest
            prefix = ""
        if draft:
            yield from self._finished(draft, floor)

    def _finished(self, draft: _Draft, floor: int) -> Generator[str, None, int]:
        """Yield the text of ``draft``, if it has content; return the floor of the next draft."""
        body = self.source.text[draft.floor : draft.end]
        has_marks_alone = self._is_markdown and _MARK.fullmatch(body) is not None
        if has_marks_alone and not draft.heading_only and draft.start != draft.floor:
            return floor  # an overlap with marks behind it, such as the empty line of a quote in Markdown
        text = draft.prefix + self.source.text[draft.start : draft.end]
        closed = f"{text}\n{draft.closer}"
        yield closed if draft.closer and draft.framed and len(closed) <= self.max_chars else text
        return draft.floor

    def _takes_part(self, draft: _Draft, unit: Unit) -> bool:
        return draft.heading_only and self._room(draft, unit) > self.max_chars // 4

    def _room(self, draft: _Draft, unit: Unit) -> int:
        """Return the number of characters of ``unit`` that fit into ``draft``."""
        return self.max_chars - len(draft.prefix) - (unit.start - draft.start)

    def _begin(self, unit: Unit, prefix: str, floor: int) -> _Draft:
        """Return a draft for ``unit``, with prefix, repeated frame or overlap if there is room."""
        room = self.max_chars - (len(unit) if len(unit) <= self.max_chars else self.max_chars // 2)
        prefix = prefix or (f"{unit.opener}\n" if unit.opener else "")
        if len(prefix) > room:
            prefix = ""
        if unit.kind in ("code", "row"):
            indent = self.source.indentation(unit)
            start = unit.start - indent if indent <= room - len(prefix) else unit.start
        else:
            start = unit.start if prefix else self._overlap_start(unit, floor, room)
            marks = self._quotation(start) if start < unit.start else ""
            prefix = prefix or (marks if len(marks) + unit.start - start <= room else "")
        return _Draft(prefix, start, start, unit.start, framed=bool(prefix) or not unit.opener)

    def _overlap_start(self, unit: Unit, floor: int, room: int) -> int:
        """Return the start of the text that is repeated before ``unit``: the beginning of a sentence.

        If no sentence begins there it is the unit's own start: half a sentence would be quoted as a whole one. Only a
        text that begins inside a sentence repeats from the beginning of a word, or, in scripts without spaces, from any
        character.
        """
        text, cut = self.source.text, unit.start
        start = max(floor, cut - min(self._overlap, room))
        boundary = start == floor
        while start < cut:
            end_of_code = self._code_around(start)
            if end_of_code:
                start, boundary = end_of_code, True
            elif boundary:
                break
            else:
                sentence = next(self.source.sentence_starts(start, cut), None)
                start = sentence or (self._word_start(start, cut) if unit.kind == "line" else cut)
                boundary = True
        return start if text[start:cut].strip() else cut

    def _word_start(self, start: int, cut: int) -> int:
        """Return the start of the first word behind ``start``, or of the first whole character without one."""
        word = _SPACE.search(self.source.text, start, cut)
        if word and word.end() < cut:
            return word.end()
        while start < cut and unicodedata.combining(self.source.text[start]):
            start += 1
        return start

    def _quotation(self, position: int) -> str:
        """Return the quotation marks (``>``) at the beginning of the line that ``position`` is in."""
        line = self.source.text.rfind("\n", 0, position) + 1
        mark = _QUOTE.match(self.source.text, line, position)
        return mark[0] if mark and self._is_markdown else ""

    def _code_around(self, position: int) -> int:
        """Return the end of the code or table around ``position``, 0 if there is none."""
        index = bisect_right(self._code_starts, position) - 1
        if index < 0:
            return 0
        start, end = self._code[index]
        return end if start < position < end else 0


def _code_blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind in CODE:
            yield block
        yield from _code_blocks(block.children)
