"""Newer first among hits that score alike; a chunk's date was read when it was ingested."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.find.refine.feedback import adjusted_score
from rag.values.answer import RefinedHits
from rag.values.question import Question

_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")


@dataclass(frozen=True, slots=True)
class NewerFirst:
    """Orders hits whose scores (``adjusted_score``) differ by less than ``width`` by date; scores stay as they are.

    "Within .02" is no equivalence (.80 and .79 are alike, .79 and .775 are, .80 and .775 are not), so that a sort
    that compares pairs, as the seed's does, depends on the order that it begins with. Here groups are cut from the
    top: the best hit left opens a group, which takes every hit less than ``width`` below it. Within a group what is of
    a year that the question names comes first, then newer, the undated last, and of the same date the better score,
    then the order of retrieval. The result depends on the question and the set of hits alone, and no hit passes one
    that scores better by ``width`` or more.
    """

    width: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        """The same hits in their new order; the trail names those that their date moved up."""
        left = by_score = sorted(hits, key=lambda hit: (-adjusted_score(hit), -hit.parts["dense"], hit.chunk.number))
        ordered: list[Hit] = []
        years = frozenset(_YEAR.findall(question.understood))
        while left:
            top = adjusted_score(left[0])
            size = next((i for i, hit in enumerate(left) if top - adjusted_score(hit) >= self.width), len(left)) or 1
            ordered += sorted(left[:size], key=lambda hit: (not years & _years(hit), _age(hit)))
            left = left[size:]
        places = {hit.chunk.number: place for place, hit in enumerate(by_score)}
        moved_up = [hit.chunk.id for place, hit in enumerate(ordered) if place < places[hit.chunk.number]]
        rule = f"of {', '.join(sorted(years))}, then newer first" if years else "newer first"
        return RefinedHits(tuple(ordered), (f"{rule}: {', '.join(moved_up)}",) if moved_up else ())


def _years(hit: Hit) -> set[str]:
    """The years that its title and section name, else the one of its date."""
    chunk = hit.chunk
    return set(_YEAR.findall(f"{chunk.title} {chunk.section}")) or {str(chunk.dated // 10_000)}


def _age(hit: Hit) -> int:
    """Sorts newest first and undated (0) last; sorting is stable, so that better scores stay ahead."""
    return -hit.chunk.dated
