"""Reading: the Markdown of an answer or a passage, by one parse, as a tree.

markdown-it reads it, the library that cuts documents too. A profile's form of citations is one of its inline rules, so
that nothing in code is ever taken for a mark; tags become nodes (``rag.answer.html``); an address that stands bare is
a link, as nearly every renderer makes one of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from rag.answer.held import BARE, bare_address
from rag.answer.html import Tag, blocks_of, one_line, raw_block, tag_of
from rag.answer.tree import (
    Block,
    Break,
    Code,
    CodeBlock,
    Heading,
    Inline,
    Item,
    Link,
    Listing,
    Mark,
    Quotation,
    Ruler,
    Style,
    Styled,
    Table,
    Text,
    Tree,
    joined,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_CHARS = 100_000
"""No answer to a question is longer; what follows is not read."""

_UNREAD = re.compile(r"\r\n?|[\0-\x08\x0b-\x1f\x7f]|\A\ufeff+")
"""What parsers read each in a way of its own."""
_READ_AS = {"\r": "\n", "\0": "\ufffd", "\ufeff": ""}
_STYLES: dict[str, Style] = {"strong_open": "strong", "em_open": "em", "s_open": "s"}
_RAW = re.compile(r"<(?:(script|style|pre|textarea)(?=[\s>]|\Z)|(!--)|[?!])", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_ALIGN = re.compile(r"left|right|center")


class Form(Protocol):
    """How a profile cites: its marks as an inline rule."""

    @property
    def opens(self) -> str:
        """The characters that a mark may begin with."""
        ...

    def found(self, text: str, start: int, end: int) -> tuple[int, str] | None:
        """Where the mark that begins at ``start`` ends, at most ``end``, and what it says; None for no mark."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads answers that cite in ``form``, and with None what cites nothing, such as passages.

    ``growing`` text is read line by line: no later line makes a heading or a link of an earlier one, and a table only of
    one with a border.
    """

    form: Form | None = None
    growing: bool = False

    def __call__(self, text: str) -> Tree:
        """``text`` as a tree."""
        return tuple(block for block, _ in self.with_lines(text))

    def with_lines(self, text: str) -> list[tuple[Block, int]]:
        """The top-level blocks of ``text``, each with the line (from 0) that it begins in."""
        tokens = _parser(self.form, self.growing).parse(text)
        blocks, _ = _Walk(tokens, text.split("\n")).blocks(0)
        return [(block, first) for block, first, _ in blocks]


def warm() -> None:
    """Import what reading needs: markdown-it takes some 20 ms."""
    Reader()("")


def normalised(text: str, *, began: bool = False) -> str:
    """``text`` with line feeds for all ends of lines, and without characters that no parser reads alike.

    ``began`` says that this is not the beginning.
    """
    kept = text if began else text.lstrip("\ufeff")
    return _UNREAD.sub(lambda one: _READ_AS.get(one[0][0], " "), kept[:MAX_CHARS])


@cache
def _parser(form: Form | None, growing: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: a question that is declined reads nothing

    class Parser(MarkdownIt):
        """Takes any address, and leaves it as it is: what may stay is judged later."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802
            return url

    parser = Parser("commonmark", {"html": True}).enable(["table", "strikethrough"])
    if growing:
        parser.disable(["lheading", "reference"])
    own = {rule.name: rule.fn for rule in parser.block.ruler.__rules__}["html_block"]

    def closed_html(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        start = state.bMarks[first] + state.tShift[first]
        raw = _RAW.match(state.src, start)
        closer = "-->" if raw and raw[2] else f"</{raw[1]}" if raw and raw[1] else ">"
        return raw is not None and closer.lower() in state.src[start:].lower() and own(state, first, last, silent)

    table = {rule.name: rule.fn for rule in parser.block.ruler.__rules__}["table"]

    def fenced_table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        bordered = state.src[state.bMarks[first] + state.tShift[first] :][:1] == "|"
        return (bordered or not growing) and table(state, first, last, silent)

    parser.block.ruler.at("table", fenced_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("html_block", closed_html, {"alt": ["paragraph", "reference", "blockquote"]})
    if form is not None:
        for char in form.opens:
            parser.inline.add_terminator_char(char)
        parser.inline.ruler.before("link", "mark", _marking(form))
    return parser


def _marking(form: Form):  # type: ignore[no-untyped-def]  # markdown-it's own type is of its rules alone
    def mark(state: StateInline, silent: bool) -> bool:
        if state.src[state.pos] not in form.opens:
            return False
        found = form.found(state.src, state.pos, state.posMax)
        if found is None:
            return False
        state.pos, said = found
        if not silent:
            state.push("mark", "", 0).content = said
        return True

    return mark


type _Placed = tuple[Block, int, int]
"""A block, its first line, and the one after its last."""


class _Walk:
    """Makes nodes of the flat list of markdown-it's ``tokens`` for a text of ``lines``."""

    def __init__(self, tokens: Sequence[Token], lines: Sequence[str]) -> None:
        self.tokens = tokens
        self.lines = lines

    def blocks(self, at: int) -> tuple[list[_Placed], int]:
        """The blocks from token ``at`` to the end of what holds them, and the place of that end."""
        found: list[_Placed] = []
        while at < len(self.tokens) and self.tokens[at].nesting >= 0:
            token = self.tokens[at]
            first, last = token.map or (0, 0)
            made, at = self._block(token, at)
            found += [(block, first, last) for block in made]
        return found, at

    def _block(self, token: Token, at: int) -> tuple[Sequence[Block], int]:
        match token.type:
            case "paragraph_open":
                return blocks_of(inline(self.tokens[at + 1])), at + 3
            case "heading_open":
                return _heading(int(token.tag[1]), inline(self.tokens[at + 1])), at + 3
            case "fence" | "code_block":
                return (_code(token),), at + 1
            case "html_block":
                return raw_block(token.content), at + 1
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token, at)
            case "blockquote_open":
                inner, end = self.blocks(at + 1)
                return (Quotation(tuple(block for block, _, _ in inner)),) if inner else (), end + 1
            case "table_open":
                return self._table(at)
            case "hr":
                return (Ruler(),), at + 1
            case _:
                return (), at + 1

    def _list(self, token: Token, at: int) -> tuple[Sequence[Block], int]:
        items: list[Item] = []
        at += 1
        while self.tokens[at].type == "list_item_open":
            first, _ = self.tokens[at].map or (0, 0)
            inner, at = self.blocks(at + 1)
            starts = (first, *(start for _, start, _ in inner[1:]))
            gaps = tuple(start > 0 and not self.lines[start - 1].strip(" \t>") for start in starts)
            items += [Item(tuple(block for block, _, _ in inner), gaps)] if inner else []
            at += 1
        start = token.attrGet("start") if token.type == "ordered_list_open" else None
        number = int(start) if start is not None else 1
        return (Listing(tuple(items), number if token.type == "ordered_list_open" else None),) if items else (), at + 1

    def _table(self, at: int) -> tuple[Sequence[Block], int]:
        rows: list[list[tuple[Inline, ...]]] = []
        aligns: list[str] = []
        while self.tokens[at].type != "table_close":
            token = self.tokens[at]
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                if token.type == "th_open":
                    align = _ALIGN.search(str(token.attrGet("style") or ""))
                    aligns.append(align[0] if align else "")
                rows[-1].append(one_line(blocks_of(inline(self.tokens[at + 1]))))
            at += 1
        head, *others = map(tuple, rows)
        return (Table(head, tuple(others), tuple(aligns)),), at + 1


def _heading(level: int, run: tuple[Inline | Tag, ...]) -> Sequence[Block]:
    children = one_line(blocks_of(run))
    return (Heading(level, children),) if children else ()


def inline(token: Token) -> tuple[Inline | Tag, ...]:
    """The nodes of an inline token."""
    nodes, _ = _inline(token.children or (), 0)
    return nodes


def _inline(tokens: Sequence[Token], at: int) -> tuple[tuple[Inline | Tag, ...], int]:
    """The nodes from ``at`` to the end of what holds them, and the place of that."""
    found: list[Inline | Tag] = []
    while at < len(tokens) and tokens[at].nesting >= 0:
        token = tokens[at]
        if token.nesting == 1:
            children, at = _inline(tokens, at + 1)
            if token.type == "link_open":
                title = str(token.attrGet("title") or "")
                found.append(Link(str(token.attrGet("href") or ""), _within_link(children), title))
            else:
                found.append(Styled(_STYLES[token.type], children))  # type: ignore[arg-type]  # tags are folded later
        else:
            found += _leaf(token)
        at += 1
    return _texts_split(found), at


def _leaf(token: Token) -> Iterator[Inline | Tag]:
    match token.type:
        case "text":
            yield Text(token.content)
        case "code_inline":
            yield Code(token.content)
        case "softbreak" | "hardbreak":
            yield Break(hard=token.type == "hardbreak")
        case "mark":
            yield Mark(token.content)
        case "html_inline":
            yield tag_of(token.content)
        case "image":
            alt = Text("".join(child.content for child in token.children or ()))
            yield Link(str(token.attrGet("src") or ""), (alt,), str(token.attrGet("title") or ""), image=True)


def _within_link(run: tuple[Inline | Tag, ...]) -> tuple[Inline, ...]:
    """A link's own words: an address in them is one of them."""
    plain = (Text(node.href) if isinstance(node, Link) and not node.image else node for node in run)
    return joined(node for node in plain if not isinstance(node, Tag))


def _texts_split(run: Sequence[Inline | Tag]) -> tuple[Inline | Tag, ...]:
    """``run`` with links for the addresses that stand bare in its texts."""
    found: list[Inline | Tag] = []
    for node in run:
        if isinstance(node, Text):
            found += linked(node.text)
        else:
            found.append(node)
    return tuple(found)


def linked(text: str) -> Iterator[Inline]:
    """``text`` with links for its addresses."""
    at = 0
    for match in BARE.finditer(text):
        address = bare_address(match) or match[0]
        if at < match.start():
            yield Text(text[at : match.start()])
        yield Link(address, (Text(address),))
        at = match.start() + len(address)
    if at < len(text):
        yield Text(text[at:])


def _code(token: Token) -> CodeBlock:
    language = _LANGUAGE.match(token.info.strip())
    text = token.content.removesuffix("\n")
    fence = token.markup or "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return CodeBlock(text, language[0] if language else "", fence)
