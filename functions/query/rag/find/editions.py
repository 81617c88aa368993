"""Editions: passages of different documents that speak of the same thing, and which of them a newer one replaces."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.model.values import Hit
from rag.text.stems import content_stems
from rag.values.answer import Passage, RefinedHits, Statement
from rag.values.question import Question

SAME_COSINE = 0.84
"""From here on two passages of different documents speak of the same thing.

On the sample of GaCounts, which has three pairs of editions, the 22 sections that two editions share have .848 to .991,
all others at most .835.
"""


def near_duplicates(one: Hit, other: Hit) -> bool:
    """Return whether two chunks speak of the same thing; not where their vectors are not known."""
    if one.vector is None or other.vector is None:
        return False
    return float(one.vector @ other.vector) >= SAME_COSINE


def newest_editions_first(hits: tuple[Hit, ...], question: Question) -> RefinedHits:
    """Return ``hits`` with each behind its newer editions; the trail names those that moved up."""
    wanted = content_stems(question.understood)
    ordered: dict[int, Hit] = {}
    for hit in hits:
        editions = [hit, *(one for one in hits if _succeeds(one, hit, wanted))]
        newest_first = sorted(editions, key=lambda one: -one.chunk.dated)
        ordered |= {one.chunk.number: ordered.get(one.chunk.number, one) for one in newest_first}
    before = [hit.chunk.number for hit in hits]
    moved_up = [hit.chunk.id for place, hit in enumerate(ordered.values()) if place < before.index(hit.chunk.number)]
    return RefinedHits(tuple(ordered.values()), (f"newer edition first: {', '.join(moved_up)}",) if moved_up else ())


def outdated_passages(passages: Sequence[Passage], question: str) -> frozenset[int]:
    """Return the places of those of ``passages`` that have a newer edition among them."""
    wanted = content_stems(question)
    hits = [passage.hit for passage in passages]
    return frozenset(place for place, older in enumerate(hits) if any(_succeeds(one, older, wanted) for one in hits))


def is_outdated(statements: Sequence[Statement], passages: Sequence[Passage], question: str) -> bool:
    """Return whether one of ``statements`` was taken from a passage whose newer edition differs.

    It differs where the statement has a word of the older passage that no passage of the newer document has. A
    statement that cites the newer edition too is not outdated.
    """
    wanted = content_stems(question)
    hits = {passage.hit.chunk.number: passage.hit for passage in passages}

    def is_replaced(statement: Statement, older: Hit) -> bool:
        newer = [one for one in hits.values() if _succeeds(one, older, wanted)]
        if not newer or any(one.chunk.number in statement.chunks for one in newer):
            return False
        documents = {one.chunk.doc_id for one in newer}
        held = content_stems("\n".join(one.chunk.text for one in hits.values() if one.chunk.doc_id in documents))
        return bool(content_stems(statement.text) & content_stems(older.chunk.text) - held)

    taken = (one for one in statements if one.support != "unsupported")
    return any(is_replaced(one, hits[number]) for one in taken for number in one.chunks if number in hits)


def _succeeds(newer: Hit, older: Hit, wanted: set[str]) -> bool:
    """Return whether ``newer`` says anew what ``older`` says, and no ``wanted`` name is the older one's alone.

    A year that is asked for ("... in 2023") is such a name.
    """
    one, other = newer.chunk, older.chunk
    dated = 0 < other.dated < one.dated and other.doc_id != one.doc_id
    return dated and near_duplicates(newer, older) and not wanted & (_names(older) - _names(newer))


def _names(hit: Hit) -> set[str]:
    chunk = hit.chunk
    return content_stems(f"{chunk.title} {chunk.section} {chunk.dated // 10_000}")
