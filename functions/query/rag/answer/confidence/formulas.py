"""Confidence: how sure the service is, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from rag.values.answer import Confidence, ConfidenceInput, Level, Proceed

NO_SOURCES = Confidence("Low", 0.0, "No relevant sources found")
NOT_ANSWERED = Confidence("Low", 0.0, "The sources found do not answer the question")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAndMean:
    """Waypoint's levels by number of chunks and their mean score; score = 100 x mean cosine, 0..100."""

    high_count: int
    high_mean: float
    medium_count: int
    medium_mean: float

    def __call__(self, said: ConfidenceInput, evidence: Proceed) -> Confidence:
        """The confidence in an answer that rests on ``evidence``."""
        hits = evidence.hits
        count = len(hits)
        mean = fmean(hit.score for hit in hits)
        score = round(100 * min(1.0, max(0.0, fmean(hit.parts["dense"] for hit in hits))), 1)
        percent = f"{round(100 * mean)}%"
        if count >= self.high_count and mean >= self.high_mean:
            cited = f" with {_plural(len(said.citations), 'citation')}" if said.citations else ""
            return Confidence("High", score, f"{_plural(count, 'relevant source')}{cited}")
        if count >= self.medium_count and mean >= self.medium_mean:
            return Confidence("Medium", score, f"{_plural(count, 'source')} found, average relevance {percent}")
        if count < self.medium_count:
            return Confidence("Low", score, f"Only {_plural(count, 'source')} found")
        return Confidence("Low", score, f"Low relevance scores (avg {percent})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """Clockify's 0..100: 100 x (.4 retrieval + .2 coverage + .25 citations + .15 length).

    - retrieval: the best cosine, 0 at ``floor`` (the gate's bar), 1 at ``ceiling``
    - coverage: chunks that reached the threshold, 1 at four
    - citations: valid citations, 1 at three
    - length: words, 1 at thirty; an answer of a few words rarely says enough

    High from ``high``, Medium from ``medium``, which is
    no more. ``ceiling`` is more than ``floor``.
    """

    floor: float
    ceiling: float
    high: float
    medium: float

    def __call__(self, said: ConfidenceInput, evidence: Proceed) -> Confidence:
        """The confidence in what was ``said``."""
        best = max(hit.parts["dense"] for hit in evidence.hits)
        retrieval = _share(best - self.floor, self.ceiling - self.floor)
        coverage = _share(evidence.passed, 4)
        cited = _share(len(said.citations), 3)
        length = _share(len(said.text.split()), 30)
        score = round(100 * (0.4 * retrieval + 0.2 * coverage + 0.25 * cited + 0.15 * length), 1)
        level: Level = "High" if score >= self.high else "Medium" if score >= self.medium else "Low"
        reasons = [_plural(len(said.citations), "citation"), _plural(evidence.passed, "relevant chunk")]
        return Confidence(level, score, ", ".join([*reasons, f"best match {best:.0%}"]))


@dataclass(frozen=True, slots=True)
class TopCosine:
    """GaCounts': score = 100 x the best cosine, 0..100; High from ``high``, Medium from ``medium`` (cosines)."""

    high: float
    medium: float

    def __call__(self, said: ConfidenceInput, evidence: Proceed) -> Confidence:
        """The confidence in an answer that rests on ``evidence``."""
        best = max(hit.parts["dense"] for hit in evidence.hits)
        level: Level = "High" if best >= self.high else "Medium" if best >= self.medium else "Low"
        score = round(100 * min(1.0, max(0.0, best)), 1)
        return Confidence(level, score, f"best match {best:.0%}, {_plural(len(said.citations), 'source')} cited")


def _share(value: float, full: float) -> float:
    return min(1.0, max(0.0, value / full))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
