"""Newer first among hits that score alike."""

from __future__ import annotations

from dataclasses import dataclass

from rag.text.recency import chunk_date
from rag.types import Hit, Question


@dataclass(frozen=True, slots=True)
class NewerFirst:
    """Orders hits whose scores differ by less than ``width`` by date; scores stay as they are.

    "Within .02" is no equivalence (.80 and .79 are alike, .79 and .775 are, .80 and .775 are not), so that a sort
    that compares pairs, as the seed's does, depends on the order that it begins with. Here groups are cut from the
    top: the best hit left opens a group, which takes every hit less than ``width`` below it. Within a group newer
    comes first, the undated last, and of the same date the better score, then the order of retrieval. The result
    depends on the set of hits alone, and no hit passes one that scores better by ``width`` or more.
    """

    width: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> tuple[Hit, ...]:
        """The same hits in their new order."""
        left = sorted(hits, key=lambda hit: (-hit.score, -hit.parts["dense"], hit.chunk.number))
        ordered: list[Hit] = []
        while left:
            top = left[0].score
            size = next((i for i, hit in enumerate(left) if top - hit.score >= self.width), len(left)) or 1
            ordered += sorted(left[:size], key=_age)
            left = left[size:]
        return tuple(ordered)


def _age(hit: Hit) -> tuple[bool, int]:
    """Sorts newest first and undated last; sorting is stable, so that better scores stay ahead."""
    found = chunk_date(hit.chunk)
    return found is None, -(found or 0)
