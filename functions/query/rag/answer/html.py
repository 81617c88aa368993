"""HTML in an answer as nodes of its tree.

What Markdown knows becomes that, other elements are unwrapped, and what can run goes with what it holds. A tag that
nothing closes is a mention of it: it is text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby

from rag.answer import tree as t
from rag.answer.tags import Tag, code_block
from rag.answer.walk import joined, nodes, one_line, trimmed
from rag.answer.write import plain

STYLES: dict[str, t.Style] = {"b": "strong", "strong": "strong", "i": "em", "em": "em", "s": "s", "del": "s"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = "p div section article header footer figure figcaption details summary dl dt dd"
WITHIN_LINES = STYLES.keys() | {"a", "sup", "code"}
_OTHERS = "ul ol li table tr td th blockquote pre"
HOLDING = WITHIN_LINES | HEADINGS.keys() | {*_BLOCKS.split(), *_OTHERS.split()}
LEFT_OPEN = frozenset(("li", "p", "dt", "dd", "tr", "td", "th"))
"""Need no closing tag."""
ENDED_BY_NEXT = {"li": {"li"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"}, "p": {"p"}}
"""What of its own kind an element ends that nobody closed."""
_DROPPED = "script style iframe object embed applet noscript template svg math head title textarea select"
DROPPED = frozenset(_DROPPED.split())
"""Left out with everything in them."""
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class _Part:
    """What only a list or a table can hold: an item, a row, a cell. Elsewhere its blocks stand alone."""

    name: str
    held: tuple[_Held, ...]


type _Held = t.Inline | t.Block | _Part


def blocks_of(run: Sequence[t.Inline | Tag]) -> tuple[t.Block, ...]:
    """A paragraph's ``run`` as blocks: the paragraph, or what its tags make of it."""
    if any(isinstance(node, Tag) or _holds_tags(node) for node in run):
        return () if all(map(_is_component, run)) else _blocks(_Fold(run).result())
    inner = trimmed(run)  # type: ignore[arg-type]  # none is a tag
    return (t.Paragraph(inner),) if inner else ()


def _is_component(node: t.Inline | Tag) -> bool:
    """Whether it is a tag with attributes: one that has a paragraph to itself is there for what it does."""
    if isinstance(node, Tag):
        return node.name not in HOLDING | VOID.keys() and (node.closes or "=" in node.raw)
    return isinstance(node, t.Break)


def _holds_tags(node: t.Inline | Tag) -> bool:
    return isinstance(node, t.Styled | t.Link) and any(isinstance(inner, Tag) for inner in nodes((node,)))


VOID: Mapping[str, Callable[[Tag], t.Inline | t.Block]] = {
    "br": lambda tag: t.Break(hard=True),
    "hr": lambda tag: t.Ruler(),
    "img": lambda tag: t.Text(tag.attributes.get("alt", "")),
}


@dataclass(slots=True)
class _Open:
    """An element that is open, and what it holds so far."""

    tag: Tag
    held: list[_Held] = field(default_factory=list)


class _Fold:
    """Folds a run with tags into nodes."""

    def __init__(self, run: Sequence[t.Inline | Tag]) -> None:
        self.run = run
        self.open = [_Open(Tag(""))]
        closing = [node.name if isinstance(node, Tag) and node.closes else "" for node in run]
        self.last_closing = {name: place for place, name in enumerate(closing)}

    def result(self) -> list[_Held]:
        place = 0
        while place < len(self.run):
            node = self.run[place]
            if not isinstance(node, Tag):
                self.open[-1].held += _without_tags(node)
            elif node.closes:
                self._close(node.name)
            elif node.name in DROPPED:
                place = self._dropped(node, place)
            elif node.name:
                self._begin(node, place)
            place += 1
        while len(self.open) > 1:
            self._end()
        return self.open[0].held

    def _is_closed(self, tag: Tag, place: int) -> bool:
        return self.last_closing.get(tag.name, -1) > place

    def _dropped(self, tag: Tag, place: int) -> int:
        """The place of the tag that closes what begins at ``place``; of a mention of it that itself."""
        if not self._is_closed(tag, place):
            self.open[-1].held.append(t.Text(tag.raw))
            return place
        behind = range(place + 1, len(self.run))
        return next(at for at in behind if isinstance(end := self.run[at], Tag) and end.closes and end.name == tag.name)

    def _begin(self, tag: Tag, place: int) -> None:
        while self.open[-1].tag.name in ENDED_BY_NEXT.get(tag.name, ()):
            self._end()
        closed, held = self._is_closed(tag, place), self.open[-1].held
        if tag.name in VOID:
            held.append(VOID[tag.name](tag))
        elif tag.name in HOLDING and len(self.open) < MAX_DEPTH and (closed or tag.name in LEFT_OPEN):
            self.open.append(_Open(tag))
        elif not closed and (tag.name not in HOLDING - WITHIN_LINES or not self._ends_line(place)):
            held.append(t.Text(tag.raw))

    def _ends_line(self, place: int) -> bool:
        """Whether nothing but tags stands on one side of the tag at ``place``: it is there for what it does."""
        before, behind = self.run[:place][-1:], self.run[place + 1 : place + 2]
        return any(not beside or isinstance(beside[0], Tag | t.Break) for beside in (before, behind))

    def _close(self, name: str) -> None:
        if any(one.tag.name == name for one in self.open[1:]):
            while self.open[-1].tag.name != name:
                self._end()
            self._end()

    def _end(self) -> None:
        ended = self.open.pop()
        self.open[-1].held += _element(ended.tag, ended.held, in_pre=self.open[-1].tag.name == "pre")


def _without_tags(node: t.Inline) -> Sequence[t.Inline]:
    """Emphasis with what the tags in it make of a line."""
    if not isinstance(node, t.Styled) or not _holds_tags(node):
        return (node,)
    return _styled(node.style, one_line(blocks_of(node.children)))


def _styled(style: t.Style, run: Sequence[t.Inline]) -> Sequence[t.Inline]:
    """Emphasis of ``run``: none of the same kind within it, and the blanks at its edges around it."""
    words = plain(run)
    before, behind = (t.Text(" " if end.isspace() else "") for end in (words[:1], words[-1:]))
    inner = (node.children if isinstance(node, t.Styled) and node.style == style else (node,) for node in run)
    return before, t.Styled(style, trimmed([*chain.from_iterable(inner)])), behind


def _element(tag: Tag, held: Sequence[_Held], *, in_pre: bool) -> Sequence[_Held]:
    """What an element is that holds ``held``."""
    run = joined(node for node in held if _is_inline(node))  # type: ignore[misc]
    match tag.name:
        case "sup":
            return t.Text("^"), *run
        case "code":
            return [t.Text(_plain(run)) if in_pre else t.Code(" ".join(_plain(run).split()))]
        case "pre":
            return [code_block(_plain(run))]
        case "li" | "tr" | "td" | "th":
            return [_Part(tag.name, tuple(held))]
        case "ul" | "ol":
            return _list(tag, held)
        case "table":
            return _table(held)
        case _:
            return _holder(tag, run, _blocks(held))


def _holder(tag: Tag, run: tuple[t.Inline, ...], blocks: tuple[t.Block, ...]) -> Sequence[_Held]:
    if not blocks:
        return ()
    if tag.name in STYLES:
        return _styled(STYLES[tag.name], run)
    if tag.name in HEADINGS:
        return [t.Heading(HEADINGS[tag.name], one_line(blocks))]
    if tag.name == "a":
        return [t.Link(tag.attributes.get("href", ""), run)]
    return [t.Quotation(blocks)] if tag.name == "blockquote" else blocks


def _table(held: Sequence[_Held]) -> Sequence[t.Block]:
    parts = [[cell for cell in row.held if isinstance(cell, _Part)] for row in held if isinstance(row, _Part)]
    rows = [tuple(one_line(_blocks(cell.held)) for cell in row) for row in parts]
    width = max(map(len, rows), default=0)
    even = [(*row, *((),) * (width - len(row))) for row in rows]
    return [t.Table(even[0], tuple(even[1:]), ("",) * width)] if width else ()


def _list(tag: Tag, held: Sequence[_Held]) -> Sequence[t.Block]:
    items = [blocks for one in held if isinstance(one, _Part) and (blocks := _blocks(one.held))]
    start = tag.attributes.get("start", "1")
    number = int(start) if start.isdecimal() and len(start) < 6 else 1
    made = tuple(t.Item(one, (False, *(isinstance(block, t.Paragraph) for block in one[1:]))) for one in items)
    return [t.Listing(made, number if tag.name == "ol" else None)] if made else ()


def _blocks(held: Sequence[_Held]) -> tuple[t.Block, ...]:
    """``held`` as blocks: inline nodes side by side are a paragraph, items without a list are one."""
    found: list[t.Block] = []
    for inline, group in groupby(held, _is_inline):
        if inline:
            run = trimmed(tuple(group))  # type: ignore[arg-type]
            found += [t.Paragraph(run)] if run else []
            continue
        for node in group:
            match node:
                case _Part("li"):
                    found += _list(Tag(""), [node])
                case _Part():
                    found += _blocks(node.held)
                case _:
                    found.append(node)  # type: ignore[arg-type]
    return tuple(found)


def _is_inline(node: _Held) -> bool:
    return isinstance(node, t.Text | t.Code | t.Break | t.Styled | t.Link | t.Mark | t.Cite | t.Statement)


def _plain(run: Sequence[t.Inline]) -> str:
    return "".join(
        node.text if isinstance(node, t.Text | t.Code) else "\n" if isinstance(node, t.Break) else ""
        for node in nodes(run)
    )
