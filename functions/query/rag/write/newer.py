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
    """Whether two chunks speak of the same thing; not where their vectors are not known."""
    if one.vector is None or other.vector is None:
        return False
    return float(one.vector @ other.vector) >= SAME_COSINE


def outdated_passages(passages: Sequence[Passage], question: str) -> frozenset[int]:
    """The places of those of ``passages`` that another one, of a newer document, says anew.

    Not of what the question asks for by a name (``"... in 2023"``) that only the older one's title or section has.
    """
    if len({passage.hit.chunk.dated for passage in passages}) < 2:
        return frozenset()
    wanted = content_stems(question)
    return frozenset(
        place
        for place, older in enumerate(passages)
        if any(_succeeds(newer, older) and not wanted & (_names(older) - _names(newer)) for newer in passages)
    )


def _succeeds(newer: Passage, older: Passage) -> bool:
    one, other = newer.hit.chunk, older.hit.chunk
    dated = 0 < other.dated < one.dated and other.doc_id != one.doc_id
    return dated and near_duplicates(newer.hit, older.hit)


def _names(passage: Passage) -> set[str]:
    return content_stems(f"{passage.hit.chunk.title} {passage.hit.chunk.section}")
