"""The units of a text that an answer may quote, cut once at ingest, so that a query parses no Markdown.

Each can stand alone, together with its lead: the introduction of a list, the head of a table, the text before code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from knowledge.cut.boundaries import SourceText
from knowledge.cut.units import ITEM_MARKER, UnitKind
from knowledge.read import markdown as md

type Span = tuple[int, int]
"""First character and the one after the last."""

NO_SPAN: Span = (0, 0)
MAX_CHARS = 600
"""Longer units are cut between lines: a longer quotation would not be read."""
SHORT_BYTES = 30
"""A shorter sentence is joined to the one before: "Defaults to `30`.", "Type: String", "For example:".

On ten real and sample sites 5 % of the sentences behind another one in their paragraph are so short. In bytes, because
a Chinese character says more than a letter, and has more bytes.
"""

_WORD = re.compile(r"[^\W_]")
_MARKS = re.compile(r"(?:[\s>]*\[!\w+\](?=\s))?[\s>]*")  # of a quotation; [!NOTE] says what kind of note it is
_WHOLE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\[[^\[\]]*\](?=[\[(])|\([^()]*\)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNREAD = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<[?!][^<>]*>")
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{[:#.][^{}]*\}", re.DOTALL)  # and attributes: {: .wide}
# A line that opens or closes a container: ":::note", "/// tip", "!!! note". On docs_fastapi and docs_nuxt_content one
# unit in ten began with such.
_CONTAINER = re.compile(r"^[ \t>]*(?::{2,}|/{3,}|!{3})[ \t]*[\w-]*[ \t]*(?:\{[^{}\n]*\})?[ \t]*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?:\\.|[^\[\]\\])*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_LINK = re.compile(r"\[\s*\](?:\([^()]*\)|\[[^\[\]]*\])?")
LEAD_CHARS = 300
"""The lead of the text below a longer item or line is its last sentence alone."""
_GOES_ON = re.compile(r"0*(?:[2-9]|1\d)\d*[.)]")  # an ordered list that begins at 2 or later


def has_words(text: str, span: Span) -> bool:
    """Whether the span has a letter or digit."""
    return _WORD.search(text, *span) is not None


def trim_span(text: str, start: int, end: int, *, quoted: bool = False) -> Span:
    """Return the span without surrounding white space and, if ``quoted``, without leading quotation marks (``>``)."""
    end = start + len(text[start:end].rstrip())
    if quoted and (marks := _MARKS.match(text, start, end)):
        start = marks.end()
    return end - len(text[start:end].lstrip()), end


def sentences(source: SourceText, span: Span, *, quoted: bool = False) -> list[Span]:
    """Return the sentences in ``span``; code, links and brackets stay whole, long sentences are cut between lines."""
    text = source.text
    cuts = list(source.sentence_starts(*span))
    if cuts:
        whole = [match.span() for match in _WHOLE.finditer(text, *span)]
        cuts = [cut for cut in cuts if not any(a < cut < b for a, b in whole)]
    found: list[Span] = []
    for a, b in pairwise((span[0], *cuts, span[1])):
        start, end = trim_span(text, a, b, quoted=quoted)
        if start == end:
            continue
        if found and (is_short(text[start:end]) or not has_words(text, (start, end))):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return [part for sentence in found for part in split_lines(text, sentence, quoted=quoted)]


def split_lines(text: str, span: Span, *, quoted: bool = False) -> Iterator[Span]:
    """Yield ``span`` in as few runs of lines of at most ``MAX_CHARS`` as possible; a longer line stays whole."""
    start, end = span
    while end - start > MAX_CHARS:
        cut = text.rfind("\n", start, start + MAX_CHARS + 1)
        if cut < 0:
            cut = text.find("\n", start + MAX_CHARS, end)
        if cut < 0:
            break
        head = trim_span(text, start, cut, quoted=quoted)
        if head[0] < head[1]:
            yield head
        start = cut + 1
    start, end = trim_span(text, start, end, quoted=quoted)
    if start < end:
        yield start, end


def has_visible_words(paragraph: str) -> bool:
    """Whether it has words outside images, tags of HTML or of a template, and comments."""
    if "`" not in paragraph and any(sign in paragraph for sign in ("<", "![", "{")):
        for hidden in (_COMMENT, _IMAGE, _LINK, _TAG, _TEMPLATE):
            paragraph = hidden.sub(" ", paragraph)
    return _WORD.search(paragraph) is not None


def visible_parts(text: str, span: Span, *, html: bool) -> Iterator[Span]:
    """Yield the visible parts of a paragraph, or of a block of ``html``.

    They are runs of lines with more than tags, or than the beginning or the end of a container.
    """
    seen = text[span[0] : span[1]]
    if not html and not has_visible_words(seen):
        return
    if not html and not _CONTAINER.search(text, *span):
        yield span
        return
    for pattern in (_COMMENT, _UNREAD, _TAG) if html else (_CONTAINER,):
        seen = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), seen)
    offset, run = span[0], span[0]
    bounds: list[Span] = []
    for line in seen.split("\n"):
        if _WORD.search(line) is None:
            bounds.append((run, offset))
            run = min(offset + len(line) + 1, span[1])
        offset += len(line) + 1
    bounds.append((run, span[1]))
    for start, end in bounds:
        part = trim_span(text, start, end)
        if part[0] < part[1]:
            yield part


def split_lines_at_gaps(text: str, starts: Sequence[int], end: int) -> Iterator[Span]:
    """Yield the lines that begin at ``starts`` in runs of at most ``MAX_CHARS``, cut at a late empty line if possible.

    A longer line is a separate run.
    """
    first = gap = starts[0]
    for start, following in pairwise((*starts, end)):
        if following - first > MAX_CHARS and start > first:
            cut = gap if gap - first > MAX_CHARS // 2 else start
            yield trim_span(text, first, cut)
            first = cut
        if not text[start:following].strip():
            gap = following
    yield trim_span(text, first, end)


def is_short(sentence: str) -> bool:
    """Whether it is too short to stand alone; see ``SHORT_BYTES``."""
    return len(sentence) < SHORT_BYTES and len(sentence.encode(errors="replace")) < SHORT_BYTES


@dataclass(frozen=True, slots=True)
class QuotableUnit:
    """Characters ``start`` to ``end`` of a chunk's text, and those of its lead; where these are the same it has none.

    Neither has white space around it. An item begins with its marker. Code has its fences (the part of a long block
    only those that are in it; the fence that opens it is then the end of its lead). Blanks before the first line are
    left out: an indented block has its own in the text before ``start``. In a sentence a line that begins with ``>``
    goes on in the same quotation.
    """

    start: int
    end: int
    kind: UnitKind
    lead_start: int = 0
    lead_end: int = 0


def quotable_units(text: str, *, markdown: bool = True) -> tuple[QuotableUnit, ...]:
    """Return the units of a chunk's ``text`` in order, without overlap; text outside them has no visible words.

    A lead may be a unit too, or the end of one. Left out: images, tags, comments, link definitions, rulers.
    """
    # The same number of characters, in the lines that markdown-it counts: for it a carriage return ends one too.
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    source = SourceText(text)
    if not markdown:
        spans = (part for block in source.paragraphs() for part in sentences(source, (block.start, block.end)))
        return tuple(QuotableUnit(*span, UnitKind.SENTENCE) for span in spans if has_words(text, span))
    reader = _Reader(source)
    reader.walk(md.parse(text))
    return tuple(reader.units)


class _Reader:
    """A walk over the blocks of a text.

    ``intro`` is the introduction of a list here, ``listed`` that of the last one, ``before`` the text before code.
    """

    def __init__(self, source: SourceText) -> None:
        self.units: list[QuotableUnit] = []
        self._source = source
        self._text = source.text
        self._intro = self._before = self._listed = NO_SPAN
        self._quoted = False

    def walk(self, blocks: Sequence[md.Block]) -> None:
        for block in blocks:
            span = self._span(block)
            if block.kind in ("bullet_list", "ordered_list"):
                self._list(block)
            elif block.kind == "blockquote":
                outside, self._quoted = self._quoted, True
                self.walk(block.children)
                self._quoted = outside
            elif block.kind in ("fence", "code_block"):
                self._code(block, span)
            elif block.kind == "table":
                self._table(block, span)
            elif block.kind in ("heading", "hr"):
                self._add(span, UnitKind.HEADING)
                self._intro = self._before = self._listed = NO_SPAN
            else:
                for part in visible_parts(self._text, span, html=block.kind == "html_block"):
                    self._sentences(part)

    def _span(self, block: md.Block) -> Span:
        """Return the span of ``block`` behind the units so far (an item has the beginning of its list's first line)."""
        start = max(self._source.offset(block.first), self.units[-1].end if self.units else 0)
        return trim_span(self._text, start, self._source.offset(block.end), quoted=self._quoted)

    def _add(self, span: Span, kind: UnitKind, lead: Span = NO_SPAN) -> None:
        if has_words(self._text, span):
            self.units.append(QuotableUnit(*span, kind, *lead))

    def _sentences(self, span: Span) -> None:
        """Add the sentences of a paragraph; a line before it that ends with a colon is its lead."""
        start, end = self._intro
        leads = self._text.endswith(":", start, end) and not self._text[end : span[0]].strip(" \n>")
        lead = self._intro if leads else NO_SPAN
        for part in sentences(self._source, span, quoted=self._quoted):
            self._add(part, UnitKind.SENTENCE, lead)
            self._intro = self._before = part
            lead = NO_SPAN

    def _list(self, block: md.Block) -> None:
        """Add a list; one that goes on counting, behind a picture or in a later chunk, has the previous lead."""
        intro = self._intro
        for number, item in enumerate(block.children):
            if not number and _GOES_ON.match(self._text, self._span(item)[0]):
                intro = self._listed
            self._intro = intro
            self._item(item)
        self._intro = self._listed = intro

    def _item(self, item: md.Block) -> None:
        own = 0
        while own < len(item.children) and item.children[own].kind == "paragraph":
            own += 1
        if own:
            start, _ = self._span(item)
            self._item_text(trim_span(self._text, start, self._source.offset(item.children[own - 1].end)))
        self.walk(item.children[own:])

    def _item_text(self, span: Span) -> None:
        """Add an item as one unit; a long one by its sentences, with the first as the lead of the others."""
        if not has_visible_words(self._text[span[0] : span[1]]):
            return
        parts = [span] if span[1] - span[0] <= MAX_CHARS else self._item_parts(span)
        for number, part in enumerate(parts):
            self._add(part, UnitKind.ITEM, parts[0] if number else self._intro)
        last = parts[-1]
        self._intro = self._before = last if last[1] - last[0] <= LEAD_CHARS else self._item_parts(last)[-1]

    def _item_parts(self, span: Span) -> list[Span]:
        """Return the sentences of an item, the first with the marker: the point of ``1.`` ends no sentence."""
        marker = ITEM_MARKER.match(self._text, *span)
        first, *others = sentences(self._source, (marker.end() if marker else span[0], span[1]), quoted=self._quoted)
        return [(span[0], first[1]), *others]

    def _table(self, block: md.Block, span: Span) -> None:
        source = self._source
        head = trim_span(self._text, span[0], source.offset(block.first + 2), quoted=self._quoted)
        rows = [source.offset(line) for line in range(block.first + 2, block.end)]
        before = len(self.units)
        for start, end in pairwise((*rows, span[1])):
            self._add(trim_span(self._text, start, end, quoted=self._quoted), UnitKind.ROW, head)
        if len(self.units) == before:  # no row says anything
            self._add(head, UnitKind.ROW)

    def _code(self, block: md.Block, span: Span) -> None:
        source, text = self._source, self._text
        start, end = span
        if block.markup:
            start = text.find(block.markup, start, end)
        if end - start <= MAX_CHARS:
            self._add((start, end), UnitKind.CODE, self._before)
            return
        cuts = [start, *(source.offset(line) for line in range(block.first + 1, block.end))]
        opening = trim_span(text, start, cuts[1])[1] if block.markup else 0
        lead = self._before
        adjacent = lead[1] > 0 and not text[lead[1] : start].strip()
        framed = (lead[0] if adjacent else start, opening) if opening else lead
        for number, part in enumerate(split_lines_at_gaps(text, cuts, end)):
            self._add(part, UnitKind.CODE, framed if number else lead)
