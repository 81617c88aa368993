"""Reading: the Markdown of an answer or a passage, by one parse, as a tree.

markdown-it reads it, the library that cuts documents too. A profile's form of citations is one of its inline rules, so
that nothing in code is ever taken for a mark; tags become nodes (``rag.answer.html``); an address that stands bare is
a link, as nearly every renderer makes one of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.answer import tree as t
from rag.answer.forms import CitationForm
from rag.answer.held import linked
from rag.answer.html import blocks_of
from rag.answer.parser import parser
from rag.answer.tags import Tag, raw_block, tag_of
from rag.answer.walk import joined, one_line

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_CHARS = 100_000
"""No answer to a question is longer; what follows is not read."""

_UNREAD = re.compile(r"\r\n?|[\0-\x08\x0b-\x1f\x7f]|\A\ufeff+")
"""What parsers read each in a way of its own."""
_READ_AS = {"\r": "\n", "\0": "\ufffd", "\ufeff": ""}
_STYLES: dict[str, t.Style] = {"strong_open": "strong", "em_open": "em", "s_open": "s"}
_LANGUAGE = re.compile(r"[\w+#.,=-]{1,60}")
_ALIGN = re.compile(r"left|right|center")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads answers that cite in ``form``, and with None what cites nothing, such as passages.

    ``growing`` text is read line by line: no later line makes a heading or a link of an earlier one, and a table only
    of one with a border.
    """

    form: CitationForm | None = None
    growing: bool = False

    def __call__(self, text: str) -> t.Tree:
        """``text`` as a tree."""
        return tuple(block for block, _ in self.with_lines(text))

    def with_lines(self, text: str) -> list[tuple[t.Block, int]]:
        """The top-level blocks of ``text``, each with the line (from 0) that it begins in."""
        tokens = parser(self.form, self.growing).parse(text)
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


type _Placed = tuple[t.Block, int, int]
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

    def _block(self, token: Token, at: int) -> tuple[Sequence[t.Block], int]:
        match token.type:
            case "paragraph_open":
                return blocks_of(inline(self.tokens[at + 1])), at + 3
            case "heading_open":
                return _heading(int(token.tag[1]), inline(self.tokens[at + 1])), at + 3
            case "fence" | "code_block":
                return (_code(token),), at + 1
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token, at)
            case "blockquote_open":
                return self._quotation(at)
            case "table_open":
                return self._table(at)
            case _:
                return (t.Ruler(),) if token.type == "hr" else raw_block(token.content), at + 1

    def _quotation(self, at: int) -> tuple[Sequence[t.Block], int]:
        inner, end = self.blocks(at + 1)
        return (t.Quotation(tuple(block for block, _, _ in inner)),) if inner else (), end + 1

    def _list(self, token: Token, at: int) -> tuple[Sequence[t.Block], int]:
        items: list[t.Item] = []
        at += 1
        while self.tokens[at].type == "list_item_open":
            first, _ = self.tokens[at].map or (0, 0)
            inner, at = self.blocks(at + 1)
            starts = [start for _, start, _ in inner]
            gaps = (one == other or self._gap(one) for one, other in zip(starts[1:], starts, strict=False))
            items += [t.Item(tuple(block for block, _, _ in inner), (self._gap(first), *gaps))] if inner else []
            at += 1
        numbered, start = token.type == "ordered_list_open", token.attrGet("start")
        number = 1 if start is None else int(start)
        return (t.Listing(tuple(items), number if numbered else None),) if items else (), at + 1

    def _gap(self, line: int) -> bool:
        """Whether an empty line stands before that one."""
        return line > 0 and not self.lines[line - 1].strip(" \t>")

    def _table(self, at: int) -> tuple[Sequence[t.Block], int]:
        rows: list[list[tuple[t.Inline, ...]]] = []
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
        return (t.Table(head, tuple(others), tuple(aligns)),), at + 1


def _heading(level: int, run: tuple[t.Inline | Tag, ...]) -> Sequence[t.Block]:
    children = one_line(blocks_of(run))
    return (t.Heading(level, children),) if children else ()


def inline(token: Token) -> tuple[t.Inline | Tag, ...]:
    """The nodes of an inline token."""
    nodes, _ = _inline(token.children or (), 0)
    return nodes


def _inline(tokens: Sequence[Token], at: int) -> tuple[tuple[t.Inline | Tag, ...], int]:
    """The nodes from ``at`` to the end of what holds them, and the place of that."""
    found: list[t.Inline | Tag] = []
    while at < len(tokens) and tokens[at].nesting >= 0:
        token = tokens[at]
        if token.nesting == 1:
            children, at = _inline(tokens, at + 1)
            if token.type == "link_open":
                title = str(token.attrGet("title") or "")
                found.append(t.Link(str(token.attrGet("href") or ""), _within_link(children), title))
            else:
                found.append(t.Styled(_STYLES[token.type], children))  # type: ignore[arg-type]  # tags are folded later
        else:
            found += _leaf(token)
        at += 1
    return _texts_split(found), at


def _leaf(token: Token) -> Iterator[t.Inline | Tag]:
    match token.type:
        case "text":
            yield t.Text(token.content)
        case "code_inline":
            yield t.Code(token.content)
        case "softbreak" | "hardbreak":
            yield t.Break(hard=token.type == "hardbreak")
        case "mark":
            yield t.Mark(token.content)
        case "html_inline":
            yield tag_of(token.content)
        case "image":
            yield _image(token)


def _image(token: Token) -> t.Link:
    alt = t.Text("".join(child.content for child in token.children or ()))
    return t.Link(str(token.attrGet("src") or ""), (alt,), str(token.attrGet("title") or ""), image=True)


def _within_link(run: tuple[t.Inline | Tag, ...]) -> tuple[t.Inline, ...]:
    """A link's own words: an address in them is one of them."""
    plain = (t.Text(node.href) if isinstance(node, t.Link) and not node.image else node for node in run)
    return joined(node for node in plain if not isinstance(node, Tag))


def _texts_split(run: Sequence[t.Inline | Tag]) -> tuple[t.Inline | Tag, ...]:
    """``run`` with links for the addresses that stand bare in its texts."""
    found: list[t.Inline | Tag] = []
    for node in run:
        if isinstance(node, t.Text):
            found += linked(node.text)
        else:
            found.append(node)
    return tuple(found)


def _code(token: Token) -> t.CodeBlock:
    language = _LANGUAGE.match(token.info.strip())
    text = token.content.removesuffix("\n")
    fence = token.markup or "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return t.CodeBlock(text, language[0] if language else "", fence)
