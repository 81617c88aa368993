"""The gate: do the hits support an answer at all?"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.model.values import SearchResult
from rag.values.answer import Decline, Proceed
from rag.values.question import Question


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Proceeds when at least ``count`` hits are left."""

    count: int

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with the hits, or Decline with the reason."""
        hits = found.hits
        if len(hits) >= self.count:
            return Proceed(hits, len(hits), found.evidence)
        return Decline(f"{_chunks(len(hits))} passed the threshold, {self.count} needed")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Proceeds when at least ``count`` hits have a cosine of ``threshold``.

    Read of the plain dense cosine (-1..1), never of a fused score. The request's own threshold replaces it. Who asks
    for fewer chunks than ``count``, or whose own filters leave fewer, gets an answer that rests on those, if they
    all cover the question.
    """

    count: int
    threshold: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with all hits (one that only its words speak for may hold the answer), or Decline."""
        hits = found.hits
        threshold = self.threshold if question.threshold is None else question.threshold
        count = min(self.count, question.top_k or self.count)
        if question.filters:
            count = min(count, max(1, len(hits)))
        passed = sum(hit.parts["dense"] >= threshold for hit in hits)
        if passed < count:
            verb = "covers" if passed == 1 else "cover"
            return Decline(f"{_chunks(passed)} {verb} the question (cosine >= {threshold:g}), {count} needed")
        return Proceed(hits, passed, found.evidence)


@dataclass(frozen=True, slots=True)
class TopScore:
    """Proceeds when the best hit has a cosine of ``bar`` (-1..1); the request's own threshold replaces it.

    Read of the plain dense cosine, whatever feedback or re-ranking did to the order.
    """

    bar: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with all hits, or Decline."""
        hits = found.hits
        bar = self.bar if question.threshold is None else question.threshold
        cosines = [hit.parts["dense"] for hit in hits]
        if not cosines:
            return Decline("nothing was found")
        if max(cosines) < bar:
            return Decline(f"the best chunk's cosine is {max(cosines):.2f}, {bar:g} needed")
        return Proceed(hits, sum(cosine >= bar for cosine in cosines), found.evidence)


def _chunks(number: int) -> str:
    return "1 chunk" if number == 1 else f"{number} chunks"
