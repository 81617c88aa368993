"""Newer editions win: what a newer document says anew is not quoted of the older one."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.model.values import Hit
from rag.text.stems import content_stems
from rag.values.answer import Passage

SAME_COSINE = 0.84
"""From here on two passages of different documents speak of the same thing.

On the sample of GaCounts, which has three pairs of editions, the 22 sections that two editions share have .848 to .991,
all others at most .835.
"""


def near_duplicates(one: Hit, other: Hit) -> bool:
    """Return whether two chunks speak of the same thing; False where their vectors are not known."""
    if one.vector is None or other.vector is None:
        return False
    return float(one.vector @ other.vector) >= SAME_COSINE


def outdated_passages(passages: Sequence[Passage], question: str) -> frozenset[int]:
    """Return the places of those of ``passages`` that another one, of a newer document, says anew.

    Not of what the question asks for by a name (``"... in 2023"``) that only the older one's title or section has.
    """
    if len({passage.hit.chunk.dated for passage in passages}) < 2:
        return frozenset()
    wanted = content_stems(question)
    hits = [passage.hit for passage in passages]
    return frozenset(n for n, older in enumerate(hits) if any(_succeeds(newer, older, wanted) for newer in hits))


def _succeeds(newer: Hit, older: Hit, wanted: set[str]) -> bool:
    one, other = newer.chunk, older.chunk
    is_newer = 0 < other.dated < one.dated and other.doc_id != one.doc_id
    names, older_names = (content_stems(f"{chunk.title} {chunk.section}") for chunk in (one, other))
    return is_newer and near_duplicates(newer, older) and not wanted & (older_names - names)
