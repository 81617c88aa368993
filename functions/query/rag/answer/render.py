"""Rendering of an answer's tree as Markdown and as JSON nodes for the page.

The Markdown looks the same in every renderer: text is escaped, code has unambiguous backticks, and addresses stand in
angle brackets or behind a label, since standards differ about the end of a bare address. The Markdown of a growing tree
only grows at its end, so that an answer can be streamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from typing import Any

from rag.answer import tree as t
from rag.answer.restrict_links import BARE_ADDRESS, link_addresses
from rag.contract import BRACKETS

_MARKUP = re.compile(r"[\\`~\[\]|]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<!\s)\*|\*(?!\s|\Z)|(?<![^\W_])_|_(?![^\W_])")
"""Characters that may be markup within a line."""
_BLOCK_MARKER = re.compile(r"[#>]|[-+*=](?=[-+*=\s]|\Z)|\d{1,9}(?=[.)](?:\s|\Z))|\*")
"""The beginning of a line that may make another block of it."""
_AUTOLINK = re.compile(r"(?:https?://|mailto:)[^\s<>|`]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_PLAIN_TARGET = re.compile(r"[^\s()<>\\`|&]+")
_ENCODED = str.maketrans({char: f"%{ord(char):02X}" for char in "<>\\`|\n "})
_PLAIN_ADDRESS = re.compile(r"https?://(?:[A-Za-z0-9.:/?=%#,+;-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|&(?!#?\w+;))+", re.I)
_PLAIN_TITLE = re.compile(r"[\w ,.'-]+")
_CLOSING = re.compile(r"[.,;:!?)\]*_~'\"|]*")
_BRACKETS = f"({BRACKETS}"
_TICKS = re.compile("`+")
_STYLE_MARKERS = {"strong": ("**", "__"), "em": ("*", "_"), "s": ("~~", "~~")}
_ALIGNMENTS = {"left": ":--", "right": "--:", "center": ":-:"}


@dataclass(frozen=True, slots=True)
class RenderedMarkdown:
    """Markdown, and the ``start`` and ``end`` of each citation's characters in it."""

    text: str
    marks: tuple[tuple[int, int, t.Cite], ...]


def render_markdown(tree: t.Tree, *, before: t.Block | None = None) -> RenderedMarkdown:
    """Render ``tree``, which follows the block ``before``."""
    writer = _MarkdownWriter()
    writer.write_blocks(tree, before=before)
    return RenderedMarkdown("".join(writer.parts), tuple(writer.marks))


def render_inline(run: Sequence[t.Inline]) -> str:
    """Render a run of nodes without its citations."""
    writer = _MarkdownWriter()
    writer.write_run([node for node in run if not isinstance(node, t.Cite)])
    return "".join(writer.parts).strip()


class _MarkdownWriter:
    """Writes into ``parts``; ``marks`` are the citations with the characters that stand for them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.marks: list[tuple[int, int, t.Cite]] = []
        self._length = 0
        self._prefix = ""  # of the lines of the block
        self._begins_line = True
        self._in_row = self._in_heading = False
        self._claim_start = 0
        self._last_link = (0, 0)
        self._after_address = False  # a bare one, of which the next characters could be read as a part

    def write_blocks(self, blocks: Sequence[t.Block], *, before: t.Block | None = None) -> None:
        for place, block in enumerate(blocks):
            if place:
                self._end_line(empty_line=block.gap)
            self._write_block(block, before)
            before = block

    def _write_block(self, block: t.Block, before: t.Block | None) -> None:
        match block:
            case t.Paragraph():
                self.write_run(block.children)
            case t.Heading():
                self._put(f"{'#' * block.level} ")
                self._in_heading = True
                self.write_run(block.children)
                self._in_heading = False
            case t.CodeBlock():
                self._write_code_block(block)
            case t.ListBlock():
                same_kind = isinstance(before, t.ListBlock) and type(before.start) is type(block.start)
                self._write_list(block, after_list=same_kind)
            case t.BlockQuote():
                self._write_within("> ", "> ", block.children)
            case t.TableBlock():
                self._write_table(block)
            case _:
                self._put("___" if self._prefix else "---")

    def _write_within(self, first: str, others: str, blocks: Sequence[t.Block]) -> None:
        """Write ``blocks`` behind a prefix of their ``first`` line and one of the ``others``."""
        outside = self._prefix
        self._put(first)
        self._prefix, self._begins_line = outside + others, True
        self.write_blocks(blocks)
        self._prefix = outside

    def _write_list(self, block: t.ListBlock, *, after_list: bool) -> None:
        """Write a list; right ``after_list``, one of the same kind, other markers tell the two apart."""
        for place, item in enumerate(block.children):
            if place:
                self._end_line(empty_line=item.gap)
            if block.start is None:
                marker = "* " if after_list else "- "
            else:
                marker = f"{block.start + place}{')' if after_list else '.'} "
            self._write_within(marker, " " * len(marker), item.children)

    def _write_code_block(self, block: t.CodeBlock) -> None:
        self._put(f"{block.fence}{block.language}")
        for line in block.text.split("\n") if block.text else ():
            self._end_line(is_blank=not line)
            self._put(line)
        if block.render_end:
            self._end_line()
            self._put(block.fence)
        if any(not isinstance(node, t.ClaimSpan) or node.children or node.note for node in block.children):
            self._end_line(empty_line=True)
            self.write_run(block.children)

    def _write_table(self, table: t.TableBlock) -> None:
        for place, row in enumerate(table.children):
            if place:
                self._end_line()
            self._in_row = True
            self._put("|")
            for cell in row.children:
                self._put(" ")
                self.write_run(cell.children)
                self._put(" |" if cell.children else "|")
            self._in_row = False
            if not place:
                self._end_line()
                self._put(f"| {' | '.join(_ALIGNMENTS.get(cell.align, '---') for cell in row.children)} |")

    def write_run(self, run: Sequence[t.Inline], *, ends: bool = True) -> None:
        """Write inline nodes; ``ends``: only white space follows, now or when more is written."""
        for node, following in zip_longest(run, run[1:]):
            self._write_node(node, last=isinstance(following, t.LineBreak) or (ends and following is None))

    def _write_node(self, node: t.Inline, *, last: bool) -> None:
        match node:
            case t.Text(text) | t.Mark(text):
                self._write_text(text, last=last)
            case t.Code(text):
                self._write_code(text)
            case t.LineBreak() if self._in_row or self._in_heading:
                self._put(" ")
            case t.LineBreak(hard):
                self._put("  " if hard else "")
                self._end_line()
            case t.Styled():
                self._write_styled(node)
            case t.Link():
                self._write_link(node)
            case t.Cite():
                self._write_cite(node)
            case t.ClaimSpan():
                self._claim_start = self._length
                self.write_run(node.children, ends=last)
                if node.note:
                    self._put(f"{'' if self._begins_line else ' '}*({node.note})*")

    def _write_text(self, text: str, *, last: bool) -> None:
        text = text.replace("\n", " ")
        text = text.lstrip() if self._begins_line else text
        text = text.rstrip() if last else text  # two blanks before the end of a line would make a hard break of it
        escaped = _escape(text, last=last)
        if self._in_heading:
            escaped = escaped.replace("#", "\\#")
        elif self._begins_line and (marker := _BLOCK_MARKER.match(escaped)):
            place = marker.end() if marker[0].isdecimal() else 0
            escaped = f"{escaped[:place]}\\{escaped[place:]}"
        self._put(escaped)

    def _write_code(self, text: str) -> None:
        text = text.replace("\n", " ")
        if not text:
            return
        runs = {len(run) for run in _TICKS.findall(text)}
        ticks = "`" * next(length for length in count(1) if length not in runs)
        pad = " " if "`" in (text[0], text[-1]) or (text[0] == text[-1] == " " and text.strip()) else ""
        text = text.replace("|", "\\|") if self._in_row else text
        self._put(f"{' ' if self._last_char() in '`\\' else ''}{ticks}{pad}{text}{pad}{ticks}")

    def _write_styled(self, styled: t.Styled) -> None:
        """Write styled nodes with the blanks at their ends outside of the markers."""
        words, inner = t.inline_text(styled.children), t.trim_run(styled.children)
        if words[:1].isspace() and inner and not self._begins_line:
            self._put(" ")
        marker = _STYLE_MARKERS[styled.style][self._last_char() == "*"] if inner else ""
        self._put(marker)
        self.write_run(inner, ends=False)
        self._put(marker)
        if words[-1:].isspace():
            self._put(" ")

    def _write_link(self, link: t.Link) -> None:
        if link.is_bare and _AUTOLINK.fullmatch(link.href):
            self._put(f"<{link.href}>")
        elif link.is_bare:
            self._write_code(link.href)
        else:
            self._escape_exclamation()
            start = self._length
            self._put("![" if link.image else "[")
            self.write_run(link.children, ends=False)
            is_plain = _PLAIN_TARGET.fullmatch(link.href)
            target = link.href if is_plain else f"<{link.href.translate(_ENCODED)}>"
            has_title = _PLAIN_TITLE.fullmatch(link.title) and not BARE_ADDRESS.search(link.title)
            title = f' "{link.title}"' if has_title else ""
            self._put(f"]({target}{title})")
            self._last_link = (start, self._length)

    def _write_cite(self, cite: t.Cite) -> None:
        """Write a citation's mark; the mark or link before it, else its claim, stands for one that has none."""
        if cite.raw:
            self._escape_exclamation()
            start = self._length
            self._write_mark(cite.raw)
        elif self.marks and self.marks[-1][1] == self._length:
            start = self.marks[-1][0]
        else:
            start = self._last_link[0] if self._last_link[1] == self._length else self._claim_start
        self.marks.append((start, self._length, cite))

    def _write_mark(self, raw: str) -> None:
        """Write a mark with its brackets and addresses; a link in it is written as its address alone."""
        at, end = (1, len(raw) - 1) if raw[0] in _BRACKETS else (0, len(raw))
        self._put(raw[:at])
        for node in link_addresses(raw[at:end]):
            if isinstance(node, t.Text):
                self._put(_escape(node.text))
            elif _PLAIN_ADDRESS.fullmatch(node.href):
                self._put(node.href)
                self._after_address = True
            else:
                self._write_link(node)
        self._put(raw[end:])

    def _escape_exclamation(self) -> None:
        """Escape an exclamation mark before a link or a mark, which would make an image of it."""
        if self._last_char() == "!":
            self.parts[-1] = f"{self.parts[-1][:-1]}\\!"
            self._length += 1

    def _last_char(self) -> str:
        return self.parts[-1][-1:] if self.parts and not self._begins_line else "\n"

    def _end_line(self, *, empty_line: bool = False, is_blank: bool = False) -> None:
        """Begin the next line, behind an ``empty_line`` if so; ``is_blank``: it has no text."""
        if empty_line:
            self._append(f"\n{self._prefix.rstrip()}")
        self._append(f"\n{self._prefix.rstrip() if is_blank else self._prefix}")
        self._begins_line, self._after_address = True, False

    def _put(self, text: str) -> None:
        """Write ``text``, which has no line ends, apart from an address or a label that it could continue."""
        if not text:
            return
        ends_in_mark = bool(self.marks) and self.marks[-1][1] == self._length
        if self._after_address:
            text = self._separate(text)
        elif ends_in_mark and self._last_char() == "]" and text[0] in "(:":
            text = f"\\{text}"
        self._append(text)
        self._begins_line = False

    def _separate(self, text: str) -> str:
        """Return ``text`` with a blank where it could be read as a part of the address before it."""
        closing = _CLOSING.match(text)
        at = closing.end() if closing else 0
        if at == len(text):
            return text
        self._after_address = False
        return text if text[at].isspace() else f"{text[:at]} {text[at:]}"

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def _escape(text: str, *, last: bool = False) -> str:
    """Return ``text`` with all markup escaped; ``last``: only white space follows it."""
    escaped = _MARKUP.sub(r"\\\g<0>", text)
    return escaped if last or not escaped.endswith(" *") else f"{escaped[:-1]}\\*"


type JsonNode = str | dict[str, Any]
type ReferenceLookup = Callable[[int], tuple[int, str]]
"""From a chunk's number to the number of its reference (from 1), and its id."""

_LINK_SCHEMES = ("http://", "https://", "mailto:")
"""A link to any other address is rendered as its text."""


def json_nodes(tree: Iterable[t.Block], reference: ReferenceLookup) -> list[JsonNode]:
    """Return ``tree`` as JSON nodes: strings, and objects with a ``tag`` and ``children``."""
    return [_block_node(block, reference) for block in tree]


def _block_node(block: t.Block, reference: ReferenceLookup) -> JsonNode:
    match block:
        case t.CodeBlock():
            return _code_node(block, reference)
        case t.ListItem():
            return _item_node(block, reference)
        case t.TableBlock():
            head, *rows = block.children
            body = [_element("tbody", [_row_node(row, reference, "td") for row in rows])] if rows else []
            return _element("table", [_element("thead", [_row_node(head, reference, "th")]), *body])
        case t.Heading():
            return _element(f"h{block.level}", inline_nodes(block.children, reference))
        case t.LeafBlock():
            return _element("p", inline_nodes(block.children, reference))
        case t.ListBlock() if block.start is not None:
            return _element("ol", json_nodes(block.children, reference), start=block.start)
        case _:
            tag = {t.ListBlock: "ul", t.BlockQuote: "blockquote"}.get(type(block), "hr")
            return _element(tag, json_nodes(block.children, reference))


def _element(tag: str, children: list[JsonNode], **attributes: Any) -> dict[str, Any]:
    return {"tag": tag, "children": children, **attributes}


def _row_node(row: t.TableRow, reference: ReferenceLookup, tag: str) -> JsonNode:
    cells: list[JsonNode] = []
    for cell in row.children:
        align = {"align": cell.align} if cell.align else {}
        cells.append(_element(tag, inline_nodes(cell.children, reference), **align))
    return _element("tr", cells)


def _item_node(item: t.ListItem, reference: ReferenceLookup) -> JsonNode:
    """Render an item; its only paragraph has no element, so that a streamed item stays when the next one comes."""
    has_one_paragraph = sum(isinstance(block, t.Paragraph) for block in item.children) == 1
    children: list[JsonNode] = []
    for block in item.children:
        if has_one_paragraph and isinstance(block, t.Paragraph):
            children += inline_nodes(block.children, reference)
        else:
            children.append(_block_node(block, reference))
    return _element("li", children)


def _code_node(block: t.CodeBlock, reference: ReferenceLookup) -> JsonNode:
    code = _element("pre", [_element("code", [block.text])])
    below = inline_nodes(block.children, reference)
    if not below:
        return code
    if len(below) == 1 and isinstance(claim := below[0], dict) and claim["tag"] == "statement":
        return {**claim, "children": [code, *claim["children"]]}
    return _element("statement", [code, *below], support="uncited")


def inline_nodes(run: Iterable[t.Inline], reference: ReferenceLookup) -> list[JsonNode]:
    """Return a run of the tree's nodes as JSON nodes."""
    return [rendered for node in run for rendered in _render_node(node, reference)]


def _render_node(node: t.Inline, reference: ReferenceLookup) -> list[JsonNode]:
    match node:
        case t.Text(text) | t.Mark(text):
            return [text]
        case t.Code(text):
            return [_element("code", [text])]
        case t.LineBreak(hard):
            return [_element("br", [])] if hard else ["\n"]
        case t.Cite(chunk):
            n, chunk_id = reference(chunk)
            return [_element("cite", [], n=n, chunkId=chunk_id)]
    inner = inline_nodes(node.children, reference)
    match node:
        case t.Styled(style):
            return [_element(style, inner)]
        case t.Link(href):
            is_link = not node.image and href.lower().startswith(_LINK_SCHEMES)
            return [_element("a", inner, href=href)] if is_link else inner
        case t.ClaimSpan():
            noted = [*inner, " ", _element("note", [node.note])] if node.note else inner
            return [_element("statement", noted, support=node.support)] if node.support else noted
