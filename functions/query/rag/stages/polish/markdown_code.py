"""Where code stands in Markdown: fenced and indented blocks, inline spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

CODE_INDENT = 4
MAX_ITEMS = 30
"""List items in list items that are followed."""

_QUOTE = re.compile(r" {0,3}> ?")
# What follows five blanks is code in the item. Only a bullet or the number 1, with text, can end a paragraph.
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]{1,4}(?=[^ \t])|[ \t]|$)")
_BREAKING_MARKER = re.compile(r"[ \t]*(?:[-*+]|1[.)])[ \t]+\S")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_HTML = re.compile(r"[ \t]*(?:</?[A-Za-z!]|\[\^)")
# An escaped character, a whole span, or a tick that nothing on its line closes.
_SPAN = re.compile(r"\\.|(?<!`)(`++)(?:.*?[^`])\1(?!`)|`")
_IN_TAG = re.compile(r"<[A-Za-z/!?][^<>]*$")


def code_spans(text: str) -> list[tuple[int, int]]:
    """From where to where the code in ``text`` reaches, in characters and in order; a block line by line.

    Only what CommonMark takes for code in any case counts, since code keeps its tags. After a tick that its own line
    does not close, nothing up to the next empty line is an inline span. Below a line that begins with a tag, or with a
    footnote's mark, indented lines belong to that.
    """
    scanner = _Scanner()
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        found += ((start + first, start + last) for first, last in scanner.read(line))
        start += len(line) + 1
    return found


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open fence: its mark, how many quotation marks stand before it, where its list item's content begins."""

    mark: str
    quotes: int
    indent: int

    def holds(self, quotes: int, line: str) -> bool:
        return quotes == self.quotes and (not line.strip() or _width(line) >= self.indent)

    def closed_by(self, line: str) -> bool:
        mark = line.strip()
        return set(mark) == {self.mark[0]} and len(mark) >= len(self.mark) and _width(line) < self.indent + CODE_INDENT


@dataclass(slots=True)
class _Scanner:
    """What the lines so far leave open."""

    fence: _Fence | None = None
    quotes: int = 0
    items: list[int] = field(default_factory=list)
    """Where the contents of the open list items begin, in columns."""
    above: bool = False
    """Whether there is text above."""
    apart: bool = False
    """Whether the line above is no paragraph's: it is empty, a heading or the end of code."""
    nested: bool = False
    """Whether indented lines may belong to an HTML element or a footnote."""
    paired: bool = True
    """Whether every tick of this paragraph has its partner on its line."""

    def read(self, line: str) -> Iterator[tuple[int, int]]:
        """Where in the next line code stands."""
        if self.fence:
            quotes, body = _unquoted(line, self.fence.quotes)
            if self.fence.holds(quotes, body):
                self.apart = self.fence.closed_by(body)
                self.fence = None if self.apart else self.fence
                yield 0, len(line)
                return
            self.fence = None
        quotes, body = _unquoted(line, len(line))
        if not body.strip():
            self.apart = self.paired = True
            return
        if quotes != self.quotes:
            self.quotes, self.items = quotes, []
        indented = self._is_indented_code(body)
        if indented or self._opens_fence(body):
            yield 0, len(line)
        else:
            yield from self._spans(line)
            self.nested |= bool(_HTML.match(body))
        self.above, self.apart = True, indented or bool(_HEADING.match(body))

    def _is_indented_code(self, line: str) -> bool:
        indent = _width(line)
        inner = max((item for item in self.items if item <= indent), default=0)
        return self.above and self.apart and not self.nested and not self.quotes and indent >= inner + CODE_INDENT

    def _opens_fence(self, line: str) -> bool:
        position = 0
        indent = _width(line)
        begins = self.apart or not self.above or bool(self.items) or _BREAKING_MARKER.match(line)
        marker = _MARKER.match(line) if begins else None
        if self.apart or marker or _HEADING.match(line) or _FENCE.match(line):
            self.items = [item for item in self.items if item <= indent]
        while marker and len(self.items) < MAX_ITEMS and indent < self.inner() + CODE_INDENT:
            position = marker.end()
            indent = len(line[:position].expandtabs(CODE_INDENT)) + (marker[0][-1] not in " \t")
            self.items.append(indent)
            marker = _MARKER.match(line, position)
        opening = _FENCE.match(line, position)
        if opening and len(line[: opening.start(1)].expandtabs(CODE_INDENT)) < self.inner() + CODE_INDENT:
            self.fence = _Fence(opening[1], self.quotes, self.inner())
        return self.fence is not None

    def inner(self) -> int:
        """Where the content of the innermost list item begins."""
        return self.items[-1] if self.items else 0

    def _spans(self, line: str) -> Iterator[tuple[int, int]]:
        end = 0
        for match in _SPAN.finditer(line) if self.paired else ():
            if match[0].startswith("\\"):
                continue
            if not match[1] or _IN_TAG.search(line, end, match.start()):
                self.paired = False
                return
            end = match.end()
            yield match.span()


def _unquoted(line: str, most: int) -> tuple[int, str]:
    """How many quotation marks (at most ``most``) ``line`` begins with, and what follows them."""
    count = position = 0
    while count < most and (mark := _QUOTE.match(line, position)):
        count, position = count + 1, mark.end()
    return count, line[position:]


def _width(line: str) -> int:
    """The columns of white space that ``line`` begins with."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(CODE_INDENT))
