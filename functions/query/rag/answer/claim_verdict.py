"""The verdict on a claim: its support, the passage that it is cited to, and what a judge's word changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge.model.claims import ChunkSupport, ClaimSupport
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.statements import Unit
from rag.answer.unused_citations import explicit_citations
from rag.values import answer as values
from rag.values.answer import Passage, Support

LEAST_SHARED = 0.25
"""Share of its words that a passage must have, so that a claim is not "not found in the sources".

On MTRAG's rated answers 1.1 % of the claims of faithful ones are below it, and 11 % of those of unfaithful ones."""
ACQUITTED = 0.325
"""Least chance of a claim that a judge calls supported. An answer of one to ten such claims is Medium: a judge that
calls everything supported makes no answer High."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on a ``statement``; ``support`` is what the index says of it.

    ``found`` is the passage that supports it in place of (``wrong``) or beside those that it ``cited``. ``was`` is the
    check's word where a judge's stands in its place.
    """

    statement: values.CheckedClaim
    support: ClaimSupport
    cited: bool
    found: Passage | None = None
    wrong: bool = False
    was: Support | None = None

    @property
    def by_chunk(self) -> Mapping[int, ChunkSupport]:
        """The support of each chunk."""
        return {one.number: one for one in self.support.each}


def claim_verdict(
    form: CitationForm, unit: Unit, support: ClaimSupport, passages: Mapping[int, Passage], *, is_foreign: bool = False
) -> Verdict:
    """Return the verdict on ``unit``; a passage that supports it better than those it cites is cited.

    Of one in another language than the passages (``is_foreign``) only numbers can be missing.
    """
    support = _numbers_only(support) if is_foreign else support
    cites, cited = explicit_citations(unit), support.cited or 0.0
    best = max(support.each, key=lambda one: one.chance)
    found = passages[best.number] if cited < SUPPORTED <= best.chance else None
    wrong = found is not None and cited < PARTIAL
    kept = [*([] if wrong else cites), *([form.cite(found.hit, found.citation)] if found else [])]
    chunks = tuple(dict.fromkeys(best_chunk(cite, support) for cite in kept))
    verbatim = any(one.verbatim for one in support.each if one.number in chunks)
    unfounded = bool(support.missing) or support.shared < LEAST_SHARED
    statement = values.CheckedClaim(
        text=unit.text,
        citations=tuple(cite.raw for cite in kept if cite.raw),
        support="supported" if verbatim else "unsupported" if unfounded else "partial",
        chance=round(support.chance, 3),
        chunks=chunks,
    )
    return Verdict(statement=statement, support=support, cited=bool(kept), found=found, wrong=wrong)


def _numbers_only(support: ClaimSupport) -> ClaimSupport:
    missing = tuple(word for word in support.missing if any(map(str.isdigit, word)))
    return replace(support, missing=missing, shared=max(support.shared, LEAST_SHARED))


def judged_verdict(verdict: Verdict, word: Support | None) -> Verdict:
    """Return ``verdict`` after a judge's ``word``, which acquits of all but a missing number or name."""
    statement = verdict.statement
    if word == "unsupported":
        changed = replace(statement, support=word, chance=0.0)
    elif word == "supported" and not verdict.support.missing:
        changed = replace(statement, support=word, chance=max(statement.chance, ACQUITTED))
    else:
        return verdict
    return replace(verdict, statement=changed, was=None if statement.support == word else statement.support)


def best_supports(verdicts: Sequence[Verdict]) -> Mapping[int, ChunkSupport]:
    """Return of each cited chunk its support for the statement that it supports best."""
    best: dict[int, ChunkSupport] = {}
    for verdict in verdicts:
        for number, one in verdict.by_chunk.items():
            if number in verdict.statement.chunks and (number not in best or best[number].chance < one.chance):
                best[number] = one
    return best


def best_chunk(cite: t.Cite, support: ClaimSupport) -> int:
    """Return the chunk that a citation means, unless another that it may mean supports the claim better."""
    among = {one.number: one for one in support.each if one.number in cite.candidates}
    grades = {number: (one.verbatim, one.chance >= SUPPORTED) for number, one in among.items()}
    best = max(among, key=lambda number: (grades[number], among[number].chance), default=cite.chunk)
    return cite.chunk if grades.get(cite.chunk) == grades.get(best) else best
