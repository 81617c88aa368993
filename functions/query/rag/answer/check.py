"""The citation check: every statement of an answer against the passages that it cites, then against the others.

``knowledge.search.support`` tells how likely it is that passages bear a statement out, ``knowledge.search.copied``
whether it was taken from one place of them. Then it is supported; what is likely and said in other words is partial. A
statement that its own passages do not bear out, but another one of the context does, is cited to that one. One that
nothing bears out is marked, taken out or kept, as UNSUPPORTED says. What an engine quotes needs no look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.forms import CitationForm
from rag.answer.idle import Kept, without_idle, written
from rag.answer.recited import cited_to
from rag.answer.statements import Unit
from rag.answer.walk import all_nodes, joined, mapped
from rag.ports import Index
from rag.values import answer as values
from rag.values.answer import Bearing, Borne, Claim, Context, Copied, Passage, Support

type Unsupported = Literal["mark", "remove", "keep"]
"""What becomes of a statement that nothing supports."""
NOT_FOUND = "not found in the sources"
"""Stands behind a statement that nothing supports."""
NOT_CITED = "no source cited"
"""Stands behind one that cites nothing, and that nothing supports but in part."""
TAKEN = 2
"""How far a chunk bears out what was taken from it; in other words it does so by 1, else by 0."""
UNCITED = 0.5
"""What a statement counts that cited nothing, where a passage supports it."""
NOT_CHECKED = "the statements were not checked: the index has no token vectors"


@dataclass(frozen=True, slots=True)
class Checked:
    """A ``tree`` after the check, and its ``statements``, those that were taken out too.

    ``doubt`` is the share of the statements that are unsupported, None where nobody could look. One that cites nothing
    counts ``UNCITED`` where a passage supports it, else 1. ``bearings`` tell of each cited chunk how it bears out the
    statement that it bears out best. ``notes`` say what was changed, ``kept`` is what was checked.
    """

    tree: t.Tree
    statements: tuple[values.Statement, ...] = ()
    doubt: float | None = 0.0
    bearings: Mapping[int, Bearing] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportCheck:
    """``unsupported`` says what becomes of what nothing supports; ``form`` is how statements are cited."""

    index: Index
    form: CitationForm
    unsupported: Unsupported = "mark"

    def __call__(self, tree: t.Tree, units: Sequence[Unit], context: Context) -> Checked:
        """``tree``, which states ``units`` of ``context``, checked.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: it has no such chunk any more.
        """
        if not units:
            return Checked(tree)
        passages = {passage.hit.chunk.number: passage for passage in context.used}
        with self.index.lease() as index:
            if not index.late:
                return Checked(tree, notes=(NOT_CHECKED,))
            borne = index.support([Claim(unit.claim, meant(unit)) for unit in units], list(passages))
            kept = Kept(tree) if self.unsupported == "keep" else without_idle(tree, units, borne, index)
        return self._told(kept, units, [_verdict(self, *each, passages) for each in zip(units, borne, strict=True)])

    def judged(self, units: Sequence[Unit], checked: Checked, said: Mapping[int, Support]) -> Checked:
        """``checked``, which states ``units``, after what a judge ``said`` of them, by their place from 0.

        That raises what is partial, unless a passage cited has another number, and lowers what is not unsupported.
        """
        each = enumerate(zip(units, checked.verdicts, strict=True))
        return self._told(checked.kept, units, [_judged(unit, one, said.get(place)) for place, (unit, one) in each])

    def _told(self, kept: Kept, units: Sequence[Unit], verdicts: Sequence[Verdict]) -> Checked:
        return Checked(
            mapped(kept.tree, _Changes(self, kept.tree, units, verdicts).run),
            tuple(verdict.statement for verdict in verdicts),
            fmean(verdict.doubt for verdict in verdicts),
            _best_bearings(verdicts),
            (*self._notes(verdicts), *kept.notes),
            tuple(verdicts),
            kept,
        )

    def _notes(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        """What the trail says."""
        for number, verdict in enumerate(verdicts, start=1):
            if verdict.found:
                before = "it cited nothing" if verdict.doubt else "what it cited does not support it"
                yield f"statement {number} is now cited to {verdict.found.citation}: {before}"
            if verdict.was:
                yield f"statement {number} is {verdict.statement.support} by the judge: the check said {verdict.was}"
            if verdict.statement.support == "unsupported" and self.unsupported == "remove":
                yield f"statement {number} was removed: no source supports it"


def meant(unit: Unit) -> tuple[int, ...]:
    """The chunks that a unit cites, or may mean."""
    return tuple(dict.fromkeys(number for cite in written(unit) for number in cite.among))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A ``statement``, what it counts in ``Checked.doubt``, and how each chunk that was looked at bears it out.

    ``found`` is the passage that supports it in place of (``wrong``) or beside those that it ``cited``. ``was`` is the
    check's word where a judge's stands in its place.
    """

    statement: values.Statement
    doubt: float
    bearings: Mapping[int, Bearing]
    cited: bool
    found: Passage | None = None
    wrong: bool = False
    was: Support | None = None


def _judged(unit: Unit, verdict: Verdict, said: Support | None) -> Verdict:
    statement, bearings, was = verdict.statement, verdict.bearings, verdict.statement.support
    changed = any(bearings[number].copied is Copied.CHANGED for number in statement.chunks if number in bearings)
    if said == "supported" and was == "partial" and not changed:
        return replace(verdict, statement=replace(statement, support=said), was=was)
    if said != "unsupported" or was == said:
        return verdict
    own = _statement(unit, written(unit), statement.chance, bearings)
    return Verdict(statement=replace(own, support=said), doubt=1.0, bearings=bearings, cited=bool(own.chunks), was=was)


def _verdict(check: SupportCheck, unit: Unit, borne: Borne, passages: Mapping[int, Passage]) -> Verdict:
    bearings = {one.number: one for one in borne.each}
    cites = written(unit)
    own = max([borne.own or 0.0, *(one.chance for one in borne.each if one.number in meant(unit))])
    best = max(borne.each, key=lambda one: one.chance)
    if not own < SUPPORTED <= best.chance:
        statement = _statement(unit, cites, own if cites else best.chance, bearings)
        doubt = float(not cites or statement.support == "unsupported")
        return Verdict(statement=statement, doubt=doubt, bearings=bearings, cited=bool(cites))
    kept, found = cites if own >= PARTIAL else [], passages[best.number]
    statement = _statement(unit, [*kept, check.form.cite(found.hit, found.citation)], best.chance, bearings)
    doubt = 0.0 if cites else UNCITED
    return Verdict(statement=statement, doubt=doubt, bearings=bearings, cited=True, found=found, wrong=not kept)


def _statement(unit: Unit, cites: Sequence[t.Cite], chance: float, bearings: Mapping[int, Bearing]) -> values.Statement:
    chunks = tuple(dict.fromkeys(_best_of(cite, bearings) for cite in cites))
    support: Support = "partial" if chance >= PARTIAL else "unsupported"
    if any(_bears(bearings[number]) == TAKEN for number in chunks if number in bearings):
        support = "supported"
    citations = tuple(cite.raw for cite in cites if cite.raw)
    return values.Statement(
        text=unit.text, citations=citations, support=support, chance=round(chance, 3), chunks=chunks
    )


def _best_bearings(verdicts: Sequence[Verdict]) -> Mapping[int, Bearing]:
    best: dict[int, Bearing] = {}
    for verdict in verdicts:
        for number in verdict.statement.chunks:
            one = verdict.bearings.get(number)
            if one and (number not in best or best[number].chance < one.chance):
                best[number] = one
    return best


class _Changes:
    """What the verdicts change in the tree, run after run."""

    def __init__(self, check: SupportCheck, tree: t.Tree, units: Sequence[Unit], verdicts: Sequence[Verdict]) -> None:
        self._check = check
        self._verdicts = {unit.number: verdict for unit, verdict in zip(units, verdicts, strict=True)}
        self._left = Counter(node.number for node in all_nodes(tree) if isinstance(node, t.Statement))
        self._gone = self._taken_out(units) if check.unsupported == "remove" else set()

    def _taken_out(self, units: Sequence[Unit]) -> set[int]:
        """What nothing supports, and what introduced it where it introduces nothing any more."""
        gone = {unit.number for unit in units if self._is_unsupported(unit.number)}
        kept = {unit.lead for unit in units if unit.number not in gone}
        return gone | {unit.lead for unit in units if unit.number in gone and unit.lead is not None} - kept

    def _is_unsupported(self, number: int) -> bool:
        verdict = self._verdicts[number]
        return verdict.statement.support == "unsupported" and not verdict.found

    def run(self, run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        return joined(made for node in run for made in self._node(node))

    def _node(self, node: t.Inline) -> Iterator[t.Inline]:
        if not isinstance(node, t.Statement):
            yield node
            return
        self._left[node.number] -= 1
        verdict = self._verdicts.get(node.number)
        if node.number in self._gone:
            return
        yield self._changed(node, verdict, last=not self._left[node.number]) if verdict else node

    def _changed(self, node: t.Statement, verdict: Verdict, *, last: bool) -> t.Statement:
        children = tuple(_nearest(child, verdict.bearings) for child in node.children)
        if verdict.found:
            cite = self._check.form.cite(verdict.found.hit, verdict.found.citation)
            children = cited_to(children, cite if last else None, instead=verdict.wrong)
        support = verdict.statement.support if verdict.cited else "uncited"
        return replace(node, children=children, support=support, note=self._note(verdict) if last else "")

    def _note(self, verdict: Verdict) -> str:
        if verdict.found or self._check.unsupported == "keep":
            return ""
        if verdict.statement.support == "unsupported":
            return NOT_FOUND
        return "" if verdict.cited or self._check.unsupported != "mark" else NOT_CITED


def _nearest(node: t.Inline, bearings: Mapping[int, Bearing]) -> t.Inline:
    """A citation that may mean several chunks, of the one that bears its statement out best."""
    if isinstance(node, t.Styled | t.Link):
        return replace(node, children=tuple(_nearest(child, bearings) for child in node.children))
    return replace(node, chunk=_best_of(node, bearings)) if isinstance(node, t.Cite) else node


def _best_of(cite: t.Cite, bearings: Mapping[int, Bearing]) -> int:
    """The chunk that a citation means, unless another that it may mean bears the statement out better."""
    found = [bearings[number] for number in cite.among if number in bearings]
    best = max(found, key=lambda one: (_bears(one), one.chance), default=None)
    if best is None or (cite.chunk in bearings and _bears(bearings[cite.chunk]) >= _bears(best)):
        return cite.chunk
    return best.number


def _bears(one: Bearing) -> int:
    return TAKEN if one.copied is Copied.SAME and one.chance >= PARTIAL else int(one.chance >= SUPPORTED)
