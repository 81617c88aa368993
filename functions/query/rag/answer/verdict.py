"""What the check says of a statement: how its passages bear it out, and what a judge's word changes of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge.model.claims import ChunkSupport, Fidelity, SupportVerdict
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.forms import CitationForm
from rag.answer.idle_citations import written
from rag.answer.statements import Unit
from rag.values import answer as values
from rag.values.answer import Passage, Support

TAKEN = 2
"""How far a chunk bears out what was taken from it; in other words it does so by 1, else by 0."""
UNCITED = 0.5
"""What a statement counts that cited nothing, where a passage supports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A ``statement``, what it counts in ``Checked.doubt``, and how each chunk that was looked at bears it out.

    ``found`` is the passage that supports it in place of (``wrong``) or beside those that it ``cited``. ``was`` is the
    check's word where a judge's stands in its place.
    """

    statement: values.Statement
    doubt: float
    bearings: Mapping[int, ChunkSupport]
    cited: bool
    found: Passage | None = None
    wrong: bool = False
    was: Support | None = None


def judged(unit: Unit, verdict: Verdict, said: Support | None) -> Verdict:
    """``verdict`` on ``unit`` after what a judge ``said`` of it; see ``SupportCheck.judged``."""
    statement, bearings, was = verdict.statement, verdict.bearings, verdict.statement.support
    changed = any(bearings[number].copied is Fidelity.CHANGED for number in statement.chunks if number in bearings)
    if said == "supported" and was == "partial" and not changed:
        return replace(verdict, statement=replace(statement, support=said), was=was)
    if said != "unsupported" or was == said:
        return verdict
    own = _statement(unit, written(unit), statement.chance, bearings)
    return Verdict(statement=replace(own, support=said), doubt=1.0, bearings=bearings, cited=bool(own.chunks), was=was)


def verdict_of(form: CitationForm, unit: Unit, borne: SupportVerdict, passages: Mapping[int, Passage]) -> Verdict:
    """What ``borne``, how the ``passages`` bear ``unit`` out, makes of it: a passage that does so better is cited."""
    bearings = {one.number: one for one in borne.each}
    cites = written(unit)
    own = max([borne.own or 0.0, *(one.chance for one in borne.each if one.number in meant(unit))])
    best = max(borne.each, key=lambda one: one.chance)
    if not own < SUPPORTED <= best.chance:
        statement = _statement(unit, cites, own if cites else best.chance, bearings)
        doubt = float(not cites or statement.support == "unsupported")
        return Verdict(statement=statement, doubt=doubt, bearings=bearings, cited=bool(cites))
    kept, found = cites if own >= PARTIAL else [], passages[best.number]
    statement = _statement(unit, [*kept, form.cite(found.hit, found.citation)], best.chance, bearings)
    doubt = 0.0 if cites else UNCITED
    return Verdict(statement=statement, doubt=doubt, bearings=bearings, cited=True, found=found, wrong=not kept)


def _statement(
    unit: Unit, cites: Sequence[t.Cite], chance: float, bearings: Mapping[int, ChunkSupport]
) -> values.Statement:
    chunks = tuple(dict.fromkeys(best_of(cite, bearings) for cite in cites))
    support: Support = "partial" if chance >= PARTIAL else "unsupported"
    if any(_bears(bearings[number]) == TAKEN for number in chunks if number in bearings):
        support = "supported"
    citations = tuple(cite.raw for cite in cites if cite.raw)
    return values.Statement(
        text=unit.text, citations=citations, support=support, chance=round(chance, 3), chunks=chunks
    )


def best_bearings(verdicts: Sequence[Verdict]) -> Mapping[int, ChunkSupport]:
    """Of each chunk that is cited how it bears out the statement that it bears out best."""
    best: dict[int, ChunkSupport] = {}
    for verdict in verdicts:
        for number in verdict.statement.chunks:
            one = verdict.bearings.get(number)
            if one and (number not in best or best[number].chance < one.chance):
                best[number] = one
    return best


def meant(unit: Unit) -> tuple[int, ...]:
    """The chunks that a unit cites, or may mean."""
    return tuple(dict.fromkeys(number for cite in written(unit) for number in cite.among))


def best_of(cite: t.Cite, bearings: Mapping[int, ChunkSupport]) -> int:
    """The chunk that a citation means, unless another that it may mean bears the statement out better."""
    found = [bearings[number] for number in cite.among if number in bearings]
    best = max(found, key=lambda one: (_bears(one), one.chance), default=None)
    if best is None or (cite.chunk in bearings and _bears(bearings[cite.chunk]) >= _bears(best)):
        return cite.chunk
    return best.number


def _bears(one: ChunkSupport) -> int:
    return TAKEN if one.copied is Fidelity.SAME and one.chance >= PARTIAL else int(one.chance >= SUPPORTED)
