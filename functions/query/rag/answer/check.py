"""The citation check: every claim of an answer against the passages that it cites, and all others of the context.

A claim is supported if a cited passage says it word for word (``knowledge.search.verbatim``). It is unsupported, "not
found in the sources", if a number or name of it stands nowhere in the passages or the question, or nothing is shared
(``knowledge.search.support``). Else it is partial: in other words than the sources. A claim that another passage
supports is cited to that one. An unsupported claim is marked, removed or kept, as UNSUPPORTED says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from knowledge.model.claims import ChunkSupport, Claim, ClaimSupport
from rag.answer import tree as t
from rag.answer.check_limit import LEFT, fitting, left_note
from rag.answer.citation_forms import CitationForm
from rag.answer.claim_verdict import Verdict, best_chunk, best_supports, claim_verdict, judged_verdict
from rag.answer.recitations import cited_to
from rag.answer.statements import Unit
from rag.answer.tree import map_leaves, map_runs, merge_text, trim_run, walk
from rag.answer.unused_citations import CitationPruning, drop_unused_citations, explicit_citations
from rag.ports.index import Index
from rag.values import answer as values
from rag.values.answer import Context, Support

type Unsupported = Literal["mark", "remove", "keep"]
"""What becomes of a statement that nothing supports."""
NOT_FOUND = "not found in the sources"
"""Stands behind a statement that nothing supports."""
NOT_CITED = "no source cited"
"""Stands behind one that cites nothing, and that nothing supports but in part."""
FOREIGN = "the answer is in another language than the documents: only its numbers were looked for"
NOT_CHECKED = "the statements were not checked: the index has no token vectors"


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A ``tree`` after the check, and its ``statements``, those that were removed too.

    ``is_checked`` is False where the check failed; ``left`` are units that it had no room for. ``supports`` has the
    support of each cited chunk for the statement that it supports best. ``notes`` say what was changed, ``pruned`` is
    what was checked, and ``units`` are its statements. ``is_foreign`` says that these are in another language than the
    documents, so that little can be said of them.
    """

    tree: t.Tree
    statements: tuple[values.CheckedClaim, ...] = ()
    is_checked: bool = True
    supports: Mapping[int, ChunkSupport] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    pruned: CitationPruning = field(default_factory=CitationPruning)
    units: tuple[Unit, ...] = ()
    left: tuple[Unit, ...] = ()
    is_foreign: bool = False


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
        passages = {passage.hit.chunk.number: passage for passage in context.passages}
        with self.index.lease() as index:
            if not index.late:
                return CheckedAnswer(tree, notes=(NOT_CHECKED,))
            looked = tuple(fitting(units, index))
            seen = {unit.number for unit in looked}
            left = tuple(unit for unit in units if unit.number not in seen)
            claims = [Claim(unit.claim, _cited_chunks(unit)) for unit in looked]
            asked = context.evidence.asked.text if context.evidence else ""
            texts = (context.asker_text, " ".join(claim.text for claim in claims))
            is_foreign = all(map(index.language_unlike, texts))  # words without grammar alone are no other language
            supports = index.support(claims, list(passages), asked) if claims else ()
            pruned = (
                CitationPruning(tree)
                if self.unsupported == "keep" or is_foreign
                else drop_unused_citations(tree, looked, supports, index, left)
            )
        pairs = zip(looked, supports, strict=True)
        verdicts = [claim_verdict(self.form, *pair, passages, is_foreign=is_foreign) for pair in pairs]
        checked = CheckedAnswer((), pruned=pruned, units=looked, left=left, is_foreign=is_foreign)
        return self._with_verdicts(checked, verdicts)

    def judged(self, checked: CheckedAnswer, words: Mapping[int, Support]) -> CheckedAnswer:
        """Return ``checked`` after a judge's ``words`` on its units, by their place from 0."""
        verdicts = [judged_verdict(verdict, words.get(place)) for place, verdict in enumerate(checked.verdicts)]
        return self._with_verdicts(checked, verdicts)

    def _with_verdicts(self, checked: CheckedAnswer, verdicts: Sequence[Verdict]) -> CheckedAnswer:
        return replace(
            checked,
            tree=map_runs(checked.pruned.tree, _Changes(self, checked, verdicts).run),
            statements=tuple(verdict.statement for verdict in verdicts),
            supports=best_supports(verdicts),
            notes=(
                *self._notes(verdicts),
                *([FOREIGN] if checked.is_foreign else []),
                *checked.pruned.notes,
                *left_note(len(checked.left)),
            ),
            verdicts=tuple(verdicts),
        )

    def _notes(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        """What the trail says."""
        for number, verdict in enumerate(verdicts, start=1):
            if verdict.found:
                before = (
                    "what it cited does not support it" if verdict.support.cited is not None else "it cited nothing"
                )
                yield f"statement {number} is now cited to {verdict.found.citation}: {before}"
            if verdict.was:
                yield f"statement {number} is {verdict.statement.support} by the judge: the check said {verdict.was}"
            if self.unsupported == "remove" and (mark := mark_of(verdict)):
                yield f"statement {number} was removed: {mark}"


class _Changes:
    """What the verdicts change in the tree, run after run."""

    def __init__(self, check: SupportCheck, checked: CheckedAnswer, verdicts: Sequence[Verdict]) -> None:
        self._check, self._unchecked = check, {unit.number for unit in checked.left}
        self._verdicts = {unit.number: verdict for unit, verdict in zip(checked.units, verdicts, strict=True)}
        self._left = Counter(node.number for node in walk(checked.pruned.tree) if isinstance(node, t.ClaimSpan))
        self._gone = self._taken_out(checked.units, checked.left) if check.unsupported == "remove" else set()

    def _taken_out(self, units: Sequence[Unit], left: Sequence[Unit]) -> set[int]:
        """What nothing supports, and what introduced it where it introduces nothing any more."""
        gone = {unit.number for unit in units if mark_of(self._verdicts[unit.number])}
        kept = {unit.lead for unit in (*units, *left) if unit.number not in gone}
        return gone | {unit.lead for unit in units if unit.number in gone and unit.lead is not None} - kept

    def run(self, run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
        made = merge_text(made for node in run for made in self._node(node))
        return trim_run(made) if self._gone else made

    def _node(self, node: t.Inline) -> Iterator[t.Inline]:
        if not isinstance(node, t.ClaimSpan):
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

    def _changed(self, node: t.ClaimSpan, verdict: Verdict, *, last: bool) -> t.ClaimSpan:
        children = map_leaves(node.children, partial(_nearest, support=verdict.support))
        if verdict.found:
            cite = self._check.form.cite(verdict.found.hit, verdict.found.citation)
            children = cited_to(children, cite if last else None, instead=verdict.wrong)
        is_uncited = not verdict.cited and verdict.statement.support != "unsupported"
        support = "uncited" if is_uncited else verdict.statement.support
        note = mark_of(verdict) if last and self._check.unsupported == "mark" else ""
        return replace(node, children=children, support=support, note=note)


def mark_of(verdict: Verdict) -> str:
    """Return what stands behind a statement that no source supports, or that cites none; ``""`` behind others."""
    if verdict.statement.support == "unsupported":
        return NOT_FOUND
    return "" if verdict.cited else NOT_CITED


def _cited_chunks(unit: Unit) -> tuple[int, ...]:
    """Return the chunks that a unit cites, or may mean."""
    return tuple(dict.fromkeys(number for cite in explicit_citations(unit) for number in cite.candidates))


def _nearest(node: t.Inline, support: ClaimSupport) -> t.Inline:
    """A citation that may mean several chunks, of the one that supports its statement best."""
    return replace(node, chunk=best_chunk(node, support)) if isinstance(node, t.Cite) else node
