"""HTML in an answer as nodes of its tree.

What Markdown knows becomes that, other elements are unwrapped, and what can run goes with what it holds. A tag that
nothing closes is a mention of it: it is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from itertools import groupby

from rag.answer.tree import (
    Block,
    Break,
    Cite,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    Listing,
    Mark,
    Paragraph,
    Quotation,
    Ruler,
    Statement,
    Style,
    Styled,
    Table,
    Text,
    joined,
    nodes,
)

STYLES: dict[str, Style] = {"b": "strong", "strong": "strong", "i": "em", "em": "em", "s": "s", "del": "s"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "header",
        "footer",
        "figure",
        "figcaption",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
    ]
)
WITHIN_LINES = STYLES.keys() | {"a", "sup", "code"}
HOLDING = WITHIN_LINES | HEADINGS.keys() | BLOCKS | {"ul", "ol", "li", "table", "tr", "td", "th", "blockquote", "pre"}
LEFT_OPEN = frozenset(["li", "p", "dt", "dd", "tr", "td", "th"])
"""Need no closing tag."""
ENDED_BY_NEXT = {"li": {"li"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"}, "p": {"p"}}
"""What of its own kind an element ends that nobody closed."""
DROPPED = frozenset(
    [
        "script",
        "style",
        "iframe",
        "object",
        "embed",
        "applet",
        "noscript",
        "template",
        "svg",
        "math",
        "head",
        "title",
        "textarea",
        "select",
    ]
)
"""Left out with everything in them."""
MAX_DEPTH = 40
_NAME = re.compile(r"</?([A-Za-z][\w:-]*)")
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]{1,30})")
_PRE = re.compile(r"<pre\b[^>]*>(.*?)(?:</pre\s*>(.*)|\Z)", re.IGNORECASE | re.DOTALL)
_ANY_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as it stands in a line: ``name`` in lower case, ``""`` of a comment or a declaration."""

    raw: str
    name: str = ""
    closes: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


def tag_of(raw: str) -> Tag:
    """The tag that ``raw`` is."""
    name = _NAME.match(raw)
    if name is None:
        return Tag(raw)
    reader = _Attributes()
    reader.feed(raw)
    return Tag(raw, name[1].lower(), raw.startswith("</"), reader.found)


class _Attributes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found = {name: (value or "").strip() for name, value in attrs}


def raw_block(content: str) -> Sequence[Block]:
    """A block whose content is no Markdown: of ``<pre>`` the code, of scripts, styles and comments nothing."""
    code = _PRE.match(content.strip())
    if code is None:
        return ()
    language = _LANGUAGE.search(content[: content.find(">", content.lower().find("<code")) + 1])
    behind = unescape(_ANY_TAG.sub(" ", code[2] or "")).strip()
    made: list[Block] = [_code_block(re.sub(r"</?(?:code|span)\b[^>]*>", "", code[1]), language)]
    return [*made, Paragraph((Text(behind),))] if behind else made


def _code_block(markup: str, language: re.Match[str] | None) -> CodeBlock:
    text = unescape(markup).strip("\n").rstrip()
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    return CodeBlock(text, language[1] if language else "", "`" * max(3, ticks + 1))


@dataclass(frozen=True, slots=True)
class _Part:
    """What only a list or a table can hold: an item, a row, a cell. Elsewhere its blocks stand alone."""

    name: str
    held: tuple[_Held, ...]


type _Held = Inline | Block | _Part


def blocks_of(run: Sequence[Inline | Tag]) -> tuple[Block, ...]:
    """A paragraph's ``run`` as blocks: the paragraph, or what its tags make of it."""
    if any(isinstance(node, Tag) or _holds_tags(node) for node in run):
        return _blocks(_Fold(run).result())
    inner = trimmed(run)  # type: ignore[arg-type]  # none is a tag
    return (Paragraph(inner),) if inner else ()


def _holds_tags(node: Inline | Tag) -> bool:
    return isinstance(node, Styled | Link) and any(isinstance(inner, Tag) for inner in nodes((node,)))


@dataclass(slots=True)
class _Open:
    """An element that is open, and what it holds so far."""

    tag: Tag
    held: list[_Held] = field(default_factory=list)


class _Fold:
    """Folds a run with tags into nodes."""

    def __init__(self, run: Sequence[Inline | Tag]) -> None:
        self.run = run
        self.open = [_Open(Tag(""))]
        closing = [node.name if isinstance(node, Tag) and node.closes else "" for node in run]
        self.last_closing = {name: place for place, name in enumerate(closing)}

    def result(self) -> list[_Held]:
        dropping = ""
        for place, node in enumerate(self.run):
            if dropping:
                dropping = "" if isinstance(node, Tag) and node.closes and node.name == dropping else dropping
            elif not isinstance(node, Tag):
                self.open[-1].held.append(_without_tags(node))
            elif node.closes:
                self._close(node.name)
            elif node.name in DROPPED and self._is_closed(node, place):
                dropping = node.name
            elif node.name:
                self._begin(node, place)
        while len(self.open) > 1:
            self._end()
        return self.open[0].held

    def _is_closed(self, tag: Tag, place: int) -> bool:
        return self.last_closing.get(tag.name, -1) > place

    def _begin(self, tag: Tag, place: int) -> None:
        while self.open[-1].tag.name in ENDED_BY_NEXT.get(tag.name, ()):
            self._end()
        held = self.open[-1].held
        if tag.name == "br":
            held.append(Break(hard=True))
        elif tag.name == "hr":
            held.append(Ruler())
        elif tag.name == "img":
            held.append(Text(tag.attributes.get("alt", "")))
        elif (
            tag.name in HOLDING
            and len(self.open) < MAX_DEPTH
            and (self._is_closed(tag, place) or tag.name in LEFT_OPEN)
        ):
            self.open.append(_Open(tag))
        elif not self._is_closed(tag, place) and not (tag.name in HOLDING - WITHIN_LINES and self._ends_line(place)):
            held.append(Text(tag.raw))

    def _ends_line(self, place: int) -> bool:
        """Whether nothing but tags stands on one side of the tag at ``place``: it is there for what it does."""
        before, behind = self.run[:place][-1:], self.run[place + 1 : place + 2]
        return any(not beside or isinstance(beside[0], Tag | Break) for beside in (before, behind))

    def _close(self, name: str) -> None:
        if any(one.tag.name == name for one in self.open[1:]):
            while self.open[-1].tag.name != name:
                self._end()
            self._end()

    def _end(self) -> None:
        ended = self.open.pop()
        self.open[-1].held += _element(ended.tag, ended.held, in_pre=self.open[-1].tag.name == "pre")


def _without_tags(node: Inline) -> Inline:
    """Emphasis with what the tags in it make of a line."""
    if not isinstance(node, Styled) or not _holds_tags(node):
        return node
    return Styled(node.style, one_line(blocks_of(node.children)))


def one_line(blocks: Sequence[Block]) -> tuple[Inline, ...]:
    """The words of ``blocks`` on one line."""
    found: list[Inline] = []
    for block in blocks:
        if isinstance(block, Paragraph | Heading):
            found += [Text(" "), *block.children] if found else block.children
    spaced: list[Inline] = [Text(" ") if isinstance(node, Break) else node for node in found]
    return joined(spaced)


def _element(tag: Tag, held: Sequence[_Held], *, in_pre: bool) -> Sequence[_Held]:
    """What an element is that holds ``held``."""
    run = joined(node for node in held if _is_inline(node))  # type: ignore[misc]
    match tag.name:
        case name if name in STYLES:
            return [Styled(STYLES[name], run)] if run else ()
        case "sup":
            return Text("^"), *run
        case "code":
            return [Text(_plain(run)) if in_pre else Code(" ".join(_plain(run).split()))]
        case "a":
            return [Link(tag.attributes.get("href", ""), run)] if run else ()
        case "pre":
            return [_code_block(_plain(run), None)]
        case name if name in HEADINGS:
            return [Heading(HEADINGS[name], one_line(_blocks(held)))] if run else ()
        case "li" | "tr" | "td" | "th":
            return [_Part(tag.name, tuple(held))]
        case "ul" | "ol" | "table":
            return _of_parts(tag, [one for one in held if isinstance(one, _Part)])
        case "blockquote":
            return [Quotation(inner)] if (inner := _blocks(held)) else ()
        case _:
            return _blocks(held)


def _of_parts(tag: Tag, parts: Sequence[_Part]) -> Sequence[Block]:
    if tag.name == "table":
        rows = [tuple(one_line(_blocks(cell.held)) for cell in row.held if isinstance(cell, _Part)) for row in parts]
        width = max(map(len, rows), default=0)
        even = [(*row, *(() for _ in range(width - len(row)))) for row in rows]
        return [Table(even[0], tuple(even[1:]), ("",) * width)] if width else ()
    items = [blocks for one in parts if (blocks := _blocks(one.held))]
    start = tag.attributes.get("start", "1")
    number = int(start) if start.isdecimal() and len(start) < 6 else 1
    made = tuple(Item(one, (False, *(isinstance(block, Paragraph) for block in one[1:]))) for one in items)
    return [Listing(made, number if tag.name == "ol" else None)] if made else ()


def _blocks(held: Sequence[_Held]) -> tuple[Block, ...]:
    """``held`` as blocks: inline nodes side by side are a paragraph, items without a list are one."""
    found: list[Block] = []
    for inline, group in groupby(held, _is_inline):
        if inline:
            run = trimmed(tuple(group))  # type: ignore[arg-type]
            found += [Paragraph(run)] if run else []
            continue
        for node in group:
            match node:
                case _Part("li"):
                    found += _of_parts(Tag(""), [node])
                case _Part():
                    found += _blocks(node.held)
                case _:
                    found.append(node)  # type: ignore[arg-type]
    return tuple(found)


def _is_inline(node: _Held) -> bool:
    return isinstance(node, Text | Code | Break | Styled | Link | Mark | Cite | Statement)


def _plain(run: Sequence[Inline]) -> str:
    return "".join(
        node.text if isinstance(node, Text | Code) else "\n" if isinstance(node, Break) else "" for node in nodes(run)
    )


def trimmed(run: Sequence[Inline]) -> tuple[Inline, ...]:
    """``run`` without the blanks and the ends of lines around it."""
    whole = joined(run)
    pairs = zip((None, *whole), whole, strict=False)
    found = [node for before, node in pairs if not (isinstance(before, Break) and isinstance(node, Break))]
    while found and _is_blank(found[0]):
        found.pop(0)
    while found and _is_blank(found[-1]):
        found.pop()
    if found and isinstance(first := found[0], Text):
        found[0] = Text(first.text.lstrip())
    if found and isinstance(last := found[-1], Text):
        found[-1] = Text(last.text.rstrip())
    return tuple(found)


def _is_blank(node: Inline) -> bool:
    return isinstance(node, Break) or (isinstance(node, Text) and not node.text.strip())
