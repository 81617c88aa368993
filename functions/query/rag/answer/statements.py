"""An answer's tree cut into its statements: sentences, items, rows and blocks of code, each with its citations.

The cutting into sentences is that of ingest. A statement is a node, so that a page can show which words are meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag.answer import tree as t
from rag.answer.markdown import render_inline
from rag.answer.names import is_address
from rag.answer.printers import inline_text
from rag.answer.references import cites
from rag.answer.sentences import split_sentences
from rag.answer.tree import merge_text, trim_run, walk

type Draw = Callable[[str], t.Cite | None]
"""From what a statement says to the citation of what it draws on."""
type Kind = Literal["sentence", "item", "row", "code"]

_BEFORE_STOP = re.compile(r"\s+(?=[.,;:!?])")
_MAY_NAME = re.compile(r"([\d`])|[^.!?:\s]\s+[^\w\s]*([^\W\d_])[^\W\d_]")
EXCLAIMS = re.compile(r"[!\uff01]")
_COURTESIES = 3
"""So many sentences are looked at on each side of an answer."""
_LEAD_CHARS = 300
"""An item longer than this introduces nothing."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement as it is checked; ``number`` is that of its nodes.

    ``text`` is what it says, with what introduces it and without citations, as Markdown; ``claim`` the same in plain
    words, of a row without its header's. ``cites`` are its own, its lead's included. ``group`` tells the paragraph,
    list or table that it is in, ``lead`` the unit that introduces it. ``shared`` are the citations that one without any
    may mean: of the next unit of its group that has some, else of the next paragraph of nothing but marks, else of the
    last unit before it.
    """

    number: int
    kind: Kind
    text: str
    claim: str
    cites: tuple[t.Cite, ...]
    group: int
    lead: int | None = None
    ends: str = ""
    states: bool = True
    shared: tuple[t.Cite, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementTree:
    """A ``tree`` in which each unit is a node, and the ``units`` that state something."""

    tree: t.Tree
    units: tuple[Unit, ...]


def cut(
    tree: t.Tree,
    *,
    question: str = "",
    draw: Draw | None = None,
    is_name: Callable[[str], bool] = str.isspace,
    is_courtesy: Callable[[str], bool] = str.isspace,
) -> StatementTree:
    """``tree`` with its statements as nodes.

    No statements are headings (a line all in bold is one), questions, what introduces others with a colon, and what
    names sources and says nothing, in code too (``is_name``), nor courtesies in front and behind (``is_courtesy``, that
    cite nothing and have no number, name or code); where nothing else is said they are. A short sentence
    that comes first ("Yes.") is held up with the ``question`` that it answers. In an answer that cites nothing ``draw``
    gives the citation that belongs behind a statement.
    """
    cutter = _Cutter(None if any(isinstance(node, t.Cite) for node in walk(tree)) else draw, is_name, is_courtesy)
    made = tuple(map(cutter.block, tree))
    if not cutter.units:
        cutter.headings = True
        made = tuple(map(cutter.block, tree))
    units = cutter.without_courtesies(_stated(cutter.units, cutter.apart))
    units[:1] = [_with_question(unit, question) for unit in units[:1]]
    return StatementTree(made, tuple(units))


def _stated(units: Sequence[Unit], apart: Mapping[int, tuple[t.Cite, ...]]) -> list[Unit]:
    leads = {unit.lead for unit in units}
    others = [unit for unit in units if unit.number not in leads]
    beside = {unit.number: (*apart.get(unit.number, ()), *unit.cites) for unit in others if not unit.states}
    stated = [unit for unit in others if unit.states] or units
    return _with_shared(stated, dict(sorted({**apart, **beside}.items())))


def _with_question(unit: Unit, question: str) -> Unit:
    from knowledge.cut.spans import is_short  # late: it brings markdown-it

    return replace(unit, claim=f"{question.rstrip('?')}? {unit.claim}") if question and is_short(unit.claim) else unit


class _Cutter:
    """Walks the blocks. ``intro`` is the unit that introduces a list or code here."""

    def __init__(self, draw: Draw | None, is_name: Callable[[str], bool], is_courtesy: Callable[[str], bool]) -> None:
        self.draw, self.is_name, self.is_courtesy, self.headings = draw, is_name, is_courtesy, False
        self.units: list[Unit] = []
        self.apart: dict[int, tuple[t.Cite, ...]] = {}
        self.intro: Unit | None = None
        self.group = 0

    def block(self, block: t.Block) -> t.Block:
        self.group += 1
        match block:
            case t.Paragraph():
                return replace(block, children=self._paragraph(block.children))
            case t.Heading():
                self.intro = None
                return replace(block, children=self._paragraph(block.children)) if self.headings else block
            case t.CodeBlock():
                return self._code(block)
            case t.ListBlock():
                return self._list(block)
            case t.BlockQuote():
                return replace(block, children=tuple(map(self.block, block.children)))
            case t.TableBlock():
                return self._table(block)
            case _:
                return block

    def without_courtesies(self, units: list[Unit]) -> list[Unit]:
        """Return ``units`` without courtesies at both ends, unless they are all that is said."""
        left = list(units)
        for _ in range(_COURTESIES):
            left = left[1:] if left and self._is_courtesy(left[0]) and not _answers(left[0]) else left
            left = left[:-1] if left and self._is_courtesy(left[-1]) else left
        return left or units

    def _is_courtesy(self, unit: Unit) -> bool:
        plain_words = not unit.cites and unit.kind in {"sentence", "item"} and not _may_name(unit.text)
        return plain_words and self.is_courtesy(unit.text)

    def _paragraph(self, run: Sequence[t.Inline]) -> tuple[t.Inline, ...]:
        if not any(map(str.isalnum, inline_text(run))):
            place = len(self.units)
            self.apart[place] = (*self.apart.get(place, ()), *cites(run))
            return tuple(run)
        made: list[t.Inline] = []
        colon = self.intro if self.intro and self.intro.ends == ":" else None
        for part in split_sentences(run):
            words, last = trim_run(part), part[-1]
            between = last if isinstance(last, t.LineBreak) else t.Text("" if words == part else " ")
            made += [self._unit("sentence", words, colon), between]
            colon = None
        self.intro = self.units[-1]
        return merge_text(made)

    def _unit(self, kind: Kind, run: Sequence[t.Inline], lead: Unit | None) -> t.ClaimSpan:
        words = _told(inline_text([node for node in run if not is_address(node)]))
        if self.draw and (drawn := self.draw(inline_text([node for node in run if not isinstance(node, t.Link)]))):
            run = (*run, drawn)
        unit = Unit(
            number=len(self.units),
            kind=kind,
            text=_told(render_inline(run)),
            claim=words,
            cites=cites(run),
            group=self.group,
            ends=words[-1:],
            states=bool(words) and _states(run, words) and not self.is_name(words),
        )
        if lead and lead.ends == ":" and not (kind == "sentence" and lead.number == 0 and self._is_courtesy(lead)):
            unit = _introduced(unit, lead)
        self.units.append(unit)
        return t.ClaimSpan(tuple(run), unit.number)

    def _list(self, block: t.ListBlock) -> t.ListBlock:
        intro, group = self.intro, self.group
        items: list[t.ListItem] = []
        for item in block.children:
            self.intro, children = intro, list[t.Block]()
            for child in item.children:
                self.group = group
                if isinstance(child, t.Paragraph) and not children:
                    children.append(replace(child, children=self._item(child.children, intro)))
                else:
                    children.append(self.block(child))
            items.append(replace(item, children=tuple(children)))
        self.intro = None
        return replace(block, children=tuple(items))

    def _item(self, run: tuple[t.Inline, ...], intro: Unit | None) -> tuple[t.Inline, ...]:
        """An item's own words whole; long ones by their sentences."""
        from knowledge.cut.spans import MAX_CHARS  # late: it brings markdown-it

        words = inline_text(run)
        if not any(map(str.isalnum, words)):
            return self._paragraph(run)
        parts = [run] if len(words) <= MAX_CHARS else list(split_sentences(run))
        made = tuple(self._unit("item", part, intro) for part in parts)
        self.intro = self.units[-1] if len(words) <= _LEAD_CHARS else None
        return made

    def _table(self, block: t.TableBlock) -> t.TableBlock:
        self.intro = None
        head, *rows = block.children
        header = " ".join(inline_text(cell.children) for cell in head.children)
        return replace(block, children=(head, *(self._row(row, header, n) for n, row in enumerate(rows, 1))))

    def _row(self, row: t.TableRow, head: str, number: int) -> t.TableRow:
        run: list[t.Inline] = []
        counts = inline_text(row.children[0].children).strip(" .") == str(
            number
        )  # it says which row it is, and no more
        for cell in row.children[counts:]:
            run += [*([t.Text(" ")] if run else []), *cell.children]
        if not any(map(str.isalnum, inline_text(run))):
            return row
        made = self._unit("row", run, None)
        unit = self.units[made.number]
        self.units[made.number] = replace(unit, text=f"{head} {unit.text}".strip())
        *cells, last = row.children
        cells.append(replace(last, children=(*last.children, *made.children[len(run) :])))
        stated = (replace(cell, children=(t.ClaimSpan(cell.children, made.number),)) for cell in cells)
        return replace(row, children=tuple(stated))

    def _code(self, block: t.CodeBlock) -> t.CodeBlock:
        number = len(self.units)
        said, own, states = render_inline((t.Code(block.text),)), cites(block.children), not self.is_name(block.text)
        self.units.append(Unit(number, "code", said, block.text, own, self.group, states=states))
        return replace(block, children=(t.ClaimSpan(block.children, number),))


def _introduced(unit: Unit, lead: Unit) -> Unit:
    text, claim = f"{lead.text} {unit.text}", f"{lead.claim} {unit.claim}"
    return replace(unit, text=text, claim=claim, cites=(*lead.cites, *unit.cites), lead=lead.number)


def _states(run: Sequence[t.Inline], words: str) -> bool:
    """Whether a run is more than a question, a line all in bold, or words that only name sources ("Sources:")."""
    if words.endswith(("?", ":")) or all(map(_is_bold, run)):
        return False
    own = inline_text([node for node in run if not isinstance(node, t.Link)])
    return not cites(run) or any(map(str.isalnum, own.rpartition(":")[2]))


def _may_name(words: str) -> bool:
    """Whether ``words`` have a number, code, or within a sentence a word with a capital."""
    return any(match[1] or match[2].isupper() for match in _MAY_NAME.finditer(words))


def _answers(unit: Unit) -> bool:
    """Whether a sentence may answer a question in a word or two: "No." does, "Great question!" does not."""
    from knowledge.cut.spans import is_short  # late: it brings markdown-it

    return is_short(unit.claim) and not EXCLAIMS.search(unit.claim)


def _is_bold(node: t.Inline) -> bool:
    return (isinstance(node, t.Styled) and node.style == "strong") or not inline_text((node,)).strip(" :")


def _told(words: str) -> str:
    return _BEFORE_STOP.sub("", " ".join(words.split()))


def _with_shared(units: Sequence[Unit], apart: Mapping[int, tuple[t.Cite, ...]]) -> list[Unit]:
    """Each unit without citations with those that it may mean; ``apart`` are those that stand alone, by their place."""
    found = list(units)
    places = range(len(found) - 1)
    for place in reversed(places):
        found[place] = _sharing(found[place], found[place + 1])
    for place, unit in enumerate(found):
        behind = (marks for at, marks in apart.items() if at > unit.number and marks)
        if not unit.cites and not unit.shared:
            found[place] = replace(unit, shared=next(behind, ()))
    for place in places:
        found[place + 1] = _sharing(found[place + 1], found[place])
    return found


def _sharing(unit: Unit, other: Unit) -> Unit:
    if unit.cites or unit.shared or unit.kind != other.kind or unit.group != other.group:
        return unit
    return replace(unit, shared=other.cites or other.shared)
