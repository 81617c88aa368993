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
from functools import partial
from statistics import fmean
from typing import Literal

from knowledge.model.claims import ChunkSupport, Claim
from rag.answer import tree as t
from rag.answer.check_limit import LEFT, fitting, left_note
from rag.answer.forms import CitationForm
from rag.answer.idle_citations import KeptCitations, without_idle
from rag.answer.recitations import cited_to
from rag.answer.statements import Unit
from rag.answer.verdict import Verdict, best_bearings, best_of, judged, meant, verdict_of
from rag.answer.walk import all_nodes, joined, leaves, mapped
from rag.ports.index import Index
from rag.values import answer as values
from rag.values.answer import Context, Support

type Unsupported = Literal["mark", "remove", "keep"]
"""What becomes of a statement that nothing supports."""
NOT_FOUND = "not found in the sources"
"""Stands behind a statement that nothing supports."""
NOT_CITED = "no source cited"
"""Stands behind one that cites nothing, and that nothing supports but in part."""
NOT_CHECKED = "the statements were not checked: the index has no token vectors"


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A ``tree`` after the check, and its ``statements``, those that were taken out too.

    ``doubt`` is the share of the statements that are unsupported, None where nobody could look. One that cites nothing
    counts ``UNCITED`` where a passage supports it, else 1, and so does each that there was no room for (``left``); of
    those ``statements`` has none. ``bearings`` tell of each cited chunk how it bears out the statement that it bears
    out best. ``notes`` say what was changed, ``kept`` is what was checked, and ``units`` are its statements.
    """

    tree: t.Tree
    statements: tuple[values.Statement, ...] = ()
    doubt: float | None = 0.0
    bearings: Mapping[int, ChunkSupport] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    kept: KeptCitations = field(default_factory=KeptCitations)
    units: tuple[Unit, ...] = ()
    left: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportCheck:
    """``unsupported`` says what becomes of what nothing supports; ``form`` is how statements are cited."""

    index: Index
    form: CitationForm
    unsupported: Unsupported = "mark"

    def __call__(self, tree: t.Tree, units: Sequence[Unit], context: Context) -> CheckedAnswer:
        """``tree``, which states ``units`` of ``context``, checked.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: it has no such chunk any more.
        """
        if not units:
            return CheckedAnswer(tree)
        passages = {passage.hit.chunk.number: passage for passage in context.used}
        with self.index.lease() as index:
            if not index.late:
                return CheckedAnswer(tree, notes=(NOT_CHECKED,))
            looked = tuple(fitting(units, index))
            seen = {unit.number for unit in looked}
            left = tuple(unit for unit in units if unit.number not in seen)
            claims = [Claim(unit.claim, meant(unit)) for unit in looked]
            borne = index.support(claims, list(passages)) if claims else ()
            kept = KeptCitations(tree) if self.unsupported == "keep" else without_idle(tree, looked, borne, index, left)
        verdicts = [verdict_of(self.form, *each, passages) for each in zip(looked, borne, strict=True)]
        return self._told(CheckedAnswer((), kept=kept, units=looked, left=left), verdicts)

    def judged(self, checked: CheckedAnswer, said: Mapping[int, Support]) -> CheckedAnswer:
        """``checked`` after what a judge ``said`` of its units, by their place from 0.

        That raises what is partial, unless a passage cited has another number, and lowers what is not unsupported.
        """
        each = enumerate(zip(checked.units, checked.verdicts, strict=True))
        return self._told(checked, [judged(unit, one, said.get(place)) for place, (unit, one) in each])

    def _told(self, checked: CheckedAnswer, verdicts: Sequence[Verdict]) -> CheckedAnswer:
        kept, left = checked.kept, len(checked.left)
        return replace(
            checked,
            tree=mapped(kept.tree, _Changes(self, checked, verdicts).run),
            statements=tuple(verdict.statement for verdict in verdicts),
            doubt=fmean([*(verdict.doubt for verdict in verdicts), *left * (1.0,)]) if verdicts else None,
            bearings=best_bearings(verdicts),
            notes=(*self._notes(verdicts), *kept.notes, *left_note(left)),
            verdicts=tuple(verdicts),
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


class _Changes:
    """What the verdicts change in the tree, run after run."""

    def __init__(self, check: SupportCheck, checked: CheckedAnswer, verdicts: Sequence[Verdict]) -> None:
        self._check, self._unchecked = check, {unit.number for unit in checked.left}
        self._verdicts = {unit.number: verdict for unit, verdict in zip(checked.units, verdicts, strict=True)}
        self._left = Counter(node.number for node in all_nodes(checked.kept.tree) if isinstance(node, t.Statement))
        self._gone = self._taken_out(checked.units, checked.left) if check.unsupported == "remove" else set()

    def _taken_out(self, units: Sequence[Unit], left: Sequence[Unit]) -> set[int]:
        """What nothing supports, and what introduced it where it introduces nothing any more."""
        gone = {unit.number for unit in units if self._is_unsupported(unit.number)}
        kept = {unit.lead for unit in (*units, *left) if unit.number not in gone}
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
        last = not self._left[node.number]
        if node.number in self._unchecked and last and self._check.unsupported != "keep":
            node = replace(node, note=LEFT)
        yield self._changed(node, verdict, last=last) if verdict else node

    def _changed(self, node: t.Statement, verdict: Verdict, *, last: bool) -> t.Statement:
        children = leaves(node.children, partial(_nearest, bearings=verdict.bearings))
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


def _nearest(node: t.Inline, bearings: Mapping[int, ChunkSupport]) -> t.Inline:
    """A citation that may mean several chunks, of the one that bears its statement out best."""
    return replace(node, chunk=best_of(node, bearings)) if isinstance(node, t.Cite) else node
