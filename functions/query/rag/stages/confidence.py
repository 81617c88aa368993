"""Confidence: how sure the service is, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from rag.types import Citation, Confidence, Hit

NO_SOURCES = Confidence("Low", 0.0, "No relevant sources found")
NOT_ANSWERED = Confidence("Low", 0.0, "The sources found do not answer the question")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAndMean:
    """Waypoint's levels by number of chunks and their mean score; score = 100 x mean cosine, 0..100."""

    high_count: int
    high_mean: float
    medium_count: int
    medium_mean: float

    def __call__(self, hits: tuple[Hit, ...], citations: tuple[Citation, ...]) -> Confidence:
        """The confidence in an answer that rests on ``hits`` (never empty)."""
        count = len(hits)
        mean = fmean(hit.score for hit in hits)
        score = round(100 * min(1.0, max(0.0, fmean(hit.parts["dense"] for hit in hits))), 1)
        percent = f"{round(100 * mean)}%"
        if count >= self.high_count and mean >= self.high_mean:
            cited = f" with {_plural(len(citations), 'citation')}" if citations else ""
            return Confidence("High", score, f"{_plural(count, 'relevant source')}{cited}")
        if count >= self.medium_count and mean >= self.medium_mean:
            return Confidence("Medium", score, f"{_plural(count, 'source')} found, average relevance {percent}")
        if count < self.medium_count:
            return Confidence("Low", score, f"Only {_plural(count, 'source')} found")
        return Confidence("Low", score, f"Low relevance scores (avg {percent})")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
