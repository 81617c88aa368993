"""What elements become: those that Markdown's tokens open and close, and those of HTML in an answer.

What Markdown knows becomes that, other elements are unwrapped, and what can run goes with what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, groupby

from rag.answer import tree as t
from rag.answer.printers import inline_text
from rag.answer.tree import iter_runs, join_lines, merge_text, trim_run

type Node = t.Inline | t.Block

_NAME = re.compile(r"</?([A-Za-z][\w:-]*)")
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]{1,30})")
_ALIGN = re.compile(r"left|right|center")
_ATTRIBUTE = re.compile(r"\b(href|alt|start)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)", re.IGNORECASE)
_PRE = re.compile(r"<pre\b[^>]*>(.*?)(?:</pre\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_CODE_TAG = re.compile(r"</?(?:code|span)\b[^>]*>")

STYLES: Mapping[str, t.Style] = {"b": "strong", "strong": "strong", "i": "em", "em": "em", "s": "s", "del": "s"}
_UNWRAPPED = "p div section article header footer figure figcaption details summary dl dt dd"
_BLOCKS = f"{_UNWRAPPED} ul ol li table thead tbody tr th td blockquote pre h1 h2 h3 h4 h5 h6"
BLOCKS = frozenset(_BLOCKS.split())
KNOWN = BLOCKS | STYLES.keys() | {"a", "sup", "code"}
LEFT_OPEN = frozenset(("li", "p", "dt", "dd", "tr", "td", "th"))
"""Need no closing tag."""
ENDED_BY: Mapping[str, Sequence[str]] = {
    "li": ("li",), "tr": ("td", "th", "tr"), "td": ("td", "th"), "th": ("td", "th"), "p": ("p",),
}  # fmt: skip
"""What of its own kind an element ends that nobody closed."""
_DROPPED = "script style iframe object embed applet noscript template svg math head title textarea select"
DROPPED = frozenset(_DROPPED.split())
"""Left out with everything in them."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as it stands in a line, its ``name`` in lower case; of a comment or a declaration nothing."""

    raw: str
    name: str = ""
    closes: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Element:
    """An element that begins in ``line``, and what it holds so far; ``own`` is what Markdown opened."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    held: list[Node] = field(default_factory=list)
    own: bool = False


VOID: Mapping[str, Callable[[Tag, int], Node]] = {
    "br": lambda _tag, _line: t.LineBreak(hard=True),
    "hr": lambda _, line: t.ThematicBreak(line=line),
    "img": lambda tag, _: t.Text(tag.attributes.get("alt", "")),
}
"""What holds nothing, and what it is in a line."""


def tag_of(raw: str) -> Tag:
    """The tag that ``raw`` is."""
    name = _NAME.match(raw)
    attributes = {one[1].lower(): unescape(one[2].strip("\"' ")) for one in _ATTRIBUTE.finditer(raw)}
    return Tag(raw, name[1].lower(), raw.startswith("</"), attributes) if name else Tag("")


def element_nodes(one: Element) -> Sequence[Node]:
    """The nodes that ``one`` is."""
    return _MADE.get(one.name, _unwrapped)(one)


def _unwrapped(one: Element) -> t.Tree:
    return blocks_of(one.held, one.line)


def _link(one: Element) -> Sequence[Node]:
    words = _flat(one.held, lambda node: isinstance(node, t.Link) and not node.image)
    return (t.Link(one.attributes.get("href", ""), words, one.attributes.get("title", "")),)


def _styled(one: Element) -> Sequence[Node]:
    style = STYLES[one.name]
    words = _flat(one.held, lambda node: isinstance(node, t.Styled) and node.style == style)
    return (t.Styled(style, words),) if words else ()


def _words(held: Sequence[Node]) -> t.Run:
    """``held`` as a run; blocks in it as their words on one line."""
    return merge_text(held) if all(map(_is_inline, held)) else join_lines(blocks_of(held))  # type: ignore[arg-type]


def _flat(held: Sequence[Node], is_same: Callable[[t.Inline], bool]) -> t.Run:
    """``held`` as a run without elements of the kind that it stands in."""
    return merge_text(chain.from_iterable(node.children if is_same(node) else (node,) for node in _words(held)))  # type: ignore[union-attr]


def _heading(one: Element) -> Sequence[Node]:
    words = join_lines(_unwrapped(one))
    return (t.Heading(words, int(one.name[1]), line=one.line),) if words else ()


def _quotation(one: Element) -> Sequence[Node]:
    blocks = _unwrapped(one)
    return (t.BlockQuote(blocks, line=one.line),) if blocks else ()


def _item(one: Element) -> Sequence[Node]:
    blocks = _unwrapped(one)
    return (t.ListItem(blocks, line=one.line),) if blocks else ()


def _listing(one: Element) -> Sequence[Node]:
    blocks = blocks_of(one.held, one.line, within_list=True)
    items = tuple(block if isinstance(block, t.ListItem) else t.ListItem((block,), line=one.line) for block in blocks)
    start = one.attributes.get("start", "1")
    number = int(start) if start.isdecimal() and len(start) < 10 else 1
    return (t.ListBlock(items, number if one.name == "ol" else None, line=one.line),) if items else ()


def _cell(one: Element) -> Sequence[Node]:
    align = _ALIGN.search(one.attributes.get("style", ""))
    return (t.TableCell(join_lines(blocks_of(one.held)), align[0] if align else "", line=one.line),)


def _row(one: Element) -> Sequence[Node]:
    return (t.TableRow(tuple(cell for cell in one.held if isinstance(cell, t.TableCell)), line=one.line),)


def _table(one: Element) -> Sequence[Node]:
    rows = [row.children for row in one.held if isinstance(row, t.TableRow)]
    width = max(map(len, rows), default=0)
    even = tuple(t.TableRow((*row, *(t.TableCell(),) * (width - len(row)))) for row in rows)
    return (t.TableBlock(even, line=one.line),) if width else ()


_MADE: Mapping[str, Callable[[Element], Sequence[Node]]] = {
    **dict.fromkeys(STYLES, _styled),
    **{f"h{level}": _heading for level in range(1, 7)},
    "a": _link,
    "sup": lambda one: (t.Text("^"), *one.held),
    "code": lambda one: (t.Code(inline_text(_words(one.held))),),
    "pre": lambda one: (_code_block(inline_text(_words(one.held)), "", one.line),),
    "blockquote": _quotation,
    "ul": _listing,
    "ol": _listing,
    "li": _item,
    "table": _table,
    "thead": lambda one: one.held,
    "tbody": lambda one: one.held,
    "tr": _row,
    "th": _cell,
    "td": _cell,
}


def blocks_of(held: Sequence[Node], line: int = 0, *, within_list: bool = False) -> t.Tree:
    """``held`` as blocks: inline nodes side by side are a paragraph, items without a list are one, rows their words."""
    found: list[t.Block] = []
    for kind, group in groupby(held, _kind):
        if kind == "inline":
            words = trim_run(tuple(group))  # type: ignore[arg-type]
            found += [t.Paragraph(words, line=line)] if words else []
        elif kind == "item" and not within_list:
            found.append(t.ListBlock(tuple(group), line=line))  # type: ignore[arg-type]
        elif kind == "row":
            found += [t.Paragraph(words, line=line) for words in iter_runs(group) if words]  # type: ignore[arg-type]
        else:
            found += group  # type: ignore[arg-type]
    return tuple(found)


def _kind(node: Node) -> str:
    if _is_inline(node):
        return "inline"
    return {t.ListItem: "item", t.TableRow: "row", t.TableCell: "row"}.get(type(node), "")


def _is_inline(node: Node) -> bool:
    return isinstance(node, t.Text | t.Code | t.LineBreak | t.Styled | t.Link | t.Mark)


def raw_block(content: str, line: int) -> Sequence[t.Block]:
    """A block whose content is no Markdown: of ``<pre>`` the code, of scripts, styles and comments nothing."""
    code = _PRE.match(content.strip())
    if code is None:
        return ()
    language = _LANGUAGE.search(content[: content.find(">", content.lower().find("<code")) + 1])
    return (_code_block(unescape(_CODE_TAG.sub("", code[1])), language[1] if language else "", line),)


def _code_block(text: str, language: str, line: int) -> t.CodeBlock:
    text = text.strip("\n").rstrip()
    return t.CodeBlock(text, language, fence_of(text), line=line)


def fence_of(text: str) -> str:
    """More ticks than ``text`` holds side by side, three at least."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
