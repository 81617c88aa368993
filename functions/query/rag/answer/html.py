"""Turn elements into nodes: those that Markdown's tokens open and close, and HTML elements in an answer.

An element that Markdown has a block or style for becomes that, other elements are unwrapped, and executable ones are
dropped with their content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from itertools import chain, groupby

from rag.answer import tree as t

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
"""Elements that need no closing tag."""
ENDED_BY: Mapping[str, Sequence[str]] = {
    "li": ("li",), "tr": ("td", "th", "tr"), "td": ("td", "th"), "th": ("td", "th"), "p": ("p",),
}  # fmt: skip
"""The unclosed elements that an element ends when it begins."""
_DROPPED = "script style iframe object embed applet noscript template svg math head title textarea select"
DROPPED = frozenset(_DROPPED.split())
"""Elements that are dropped with their content."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as it stands in a line, with its ``name`` in lower case; comments and declarations have no name."""

    raw: str
    name: str = ""
    closes: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Element:
    """An element that begins in ``line``, with its nodes so far; ``is_markdown``: Markdown opened it, no tag did."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    nodes: list[Node] = field(default_factory=list)
    is_markdown: bool = False


VOID: Mapping[str, Callable[[Tag, int], Node]] = {
    "br": lambda _tag, _line: t.LineBreak(hard=True),
    "hr": lambda _, line: t.ThematicBreak(line=line),
    "img": lambda tag, _: t.Text(tag.attributes.get("alt", "")),
}
"""Elements without content, and the nodes that they become."""


def parse_tag(raw: str) -> Tag:
    """Parse the tag ``raw``."""
    name = _NAME.match(raw)
    attributes = {one[1].lower(): unescape(one[2].strip("\"' ")) for one in _ATTRIBUTE.finditer(raw)}
    return Tag(raw, name[1].lower(), raw.startswith("</"), attributes) if name else Tag("")


def element_nodes(element: Element) -> Sequence[Node]:
    """Return the nodes that ``element`` becomes."""
    return _CONVERTERS.get(element.name, _unwrap)(element)


def _unwrap(element: Element) -> t.Tree:
    return group_blocks(element.nodes, element.line)


def _link(element: Element) -> Sequence[Node]:
    words = _flatten(element.nodes, lambda node: isinstance(node, t.Link) and not node.image)
    return (t.Link(element.attributes.get("href", ""), words, element.attributes.get("title", "")),)


def _styled(element: Element) -> Sequence[Node]:
    style = STYLES[element.name]
    words = _flatten(element.nodes, lambda node: isinstance(node, t.Styled) and node.style == style)
    return (t.Styled(style, words),) if words else ()


def _as_run(nodes: Sequence[Node]) -> t.Run:
    """Return ``nodes`` as a run, blocks among them as their words on one line."""
    return t.merge_text(nodes) if all(map(_is_inline, nodes)) else t.join_lines(group_blocks(nodes))  # type: ignore[arg-type]


def _flatten(nodes: Sequence[Node], is_same: Callable[[t.Inline], bool]) -> t.Run:
    """Return ``nodes`` as a run in which the nodes of the element's own kind are unwrapped."""
    return t.merge_text(chain.from_iterable(node.children if is_same(node) else (node,) for node in _as_run(nodes)))  # type: ignore[union-attr]


def _heading(element: Element) -> Sequence[Node]:
    words = t.join_lines(_unwrap(element))
    return (t.Heading(words, int(element.name[1]), line=element.line),) if words else ()


def _container(kind: type[t.BlockQuote | t.ListItem], element: Element) -> Sequence[Node]:
    blocks = _unwrap(element)
    return (kind(blocks, line=element.line),) if blocks else ()


def _list(element: Element) -> Sequence[Node]:
    line = element.line
    blocks = group_blocks(element.nodes, line, in_list=True)
    items = tuple(block if isinstance(block, t.ListItem) else t.ListItem((block,), line=line) for block in blocks)
    start = element.attributes.get("start", "1")
    number = int(start) if start.isdecimal() and len(start) < 10 else 1
    return (t.ListBlock(items, number if element.name == "ol" else None, line=line),) if items else ()


def _cell(element: Element) -> Sequence[Node]:
    align = _ALIGN.search(element.attributes.get("style", ""))
    return (t.TableCell(t.join_lines(group_blocks(element.nodes)), align[0] if align else "", line=element.line),)


def _row(element: Element) -> Sequence[Node]:
    return (t.TableRow(tuple(cell for cell in element.nodes if isinstance(cell, t.TableCell)), line=element.line),)


def _table(element: Element) -> Sequence[Node]:
    """Make a table of the element's rows, the shorter ones filled with empty cells."""
    rows = [row.children for row in element.nodes if isinstance(row, t.TableRow)]
    width = max(map(len, rows), default=0)
    filled = tuple(t.TableRow((*row, *(t.TableCell(),) * (width - len(row)))) for row in rows)
    return (t.TableBlock(filled, line=element.line),) if width else ()


_CONVERTERS: Mapping[str, Callable[[Element], Sequence[Node]]] = {
    **dict.fromkeys(STYLES, _styled),
    **{f"h{level}": _heading for level in range(1, 7)},
    "a": _link,
    "sup": lambda element: (t.Text("^"), *element.nodes),
    "code": lambda element: (t.Code(t.inline_text(_as_run(element.nodes))),),
    "pre": lambda element: (_code_block(t.inline_text(_as_run(element.nodes)), "", element.line),),
    "blockquote": partial(_container, t.BlockQuote),
    "ul": _list,
    "ol": _list,
    "li": partial(_container, t.ListItem),
    "table": _table,
    "thead": lambda element: element.nodes,
    "tbody": lambda element: element.nodes,
    "tr": _row,
    "th": _cell,
    "td": _cell,
}


def group_blocks(nodes: Sequence[Node], line: int = 0, *, in_list: bool = False) -> t.Tree:
    """Group ``nodes`` to blocks: neighbouring inline nodes to a paragraph, items to a list; rows become their words."""

    def kind_of(node: Node) -> str:
        kinds = {t.ListItem: "item", t.TableRow: "row", t.TableCell: "row"}
        return "inline" if _is_inline(node) else kinds.get(type(node), "block")

    blocks: list[t.Block] = []
    for kind, group in groupby(nodes, kind_of):
        if kind == "inline":
            words = t.trim_run(tuple(group))  # type: ignore[arg-type]
            blocks += [t.Paragraph(words, line=line)] if words else []
        elif kind == "item" and not in_list:
            blocks.append(t.ListBlock(tuple(group), line=line))  # type: ignore[arg-type]
        elif kind == "row":
            blocks += [t.Paragraph(words, line=line) for words in t.iter_runs(group) if words]  # type: ignore[arg-type]
        else:
            blocks += group  # type: ignore[arg-type]
    return tuple(blocks)


def _is_inline(node: Node) -> bool:
    return isinstance(node, t.Text | t.Code | t.LineBreak | t.Styled | t.Link | t.Mark)


def raw_block(content: str, line: int) -> Sequence[t.Block]:
    """Return the code of a ``<pre>`` block, and nothing of scripts, styles and comments."""
    code = _PRE.match(content.strip())
    if code is None:
        return ()
    language = _LANGUAGE.search(content[: content.find(">", content.lower().find("<code")) + 1])
    return (_code_block(unescape(_CODE_TAG.sub("", code[1])), language[1] if language else "", line),)


def _code_block(text: str, language: str, line: int) -> t.CodeBlock:
    text = text.strip("\n").rstrip()
    return t.CodeBlock(text, language, choose_fence(text), line=line)


def choose_fence(text: str) -> str:
    """Return a fence for ``text``: at least three backticks, and more than it has side by side."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
