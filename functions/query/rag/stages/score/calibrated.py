"""Confidence as a chance: how likely it is that the cited evidence answers the question.

A logistic regression over three things that the search knows (``signals``):

    chance = 1 / (1 + exp(-(INTERCEPT + sum_i WEIGHTS_i x signal_i)))

``tools/research/confidence.py`` fitted it on three corpora that nobody here wrote, and tells how it does on each of
them when fitted on the other two. The exponent is stretched and shifted where the index's owner has labelled questions
(``Evidence.odds``, ``ragctl calibrate``): whoever changes a number here raises ``CALIBRATION_RECIPE``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.stages.score.support import not_mentioned
from rag.stages.write.newer import same_matter
from rag.stages.write.quoting import best_covers
from rag.values.answer import Asked, Citation, Confidence, Hit, Level, Passage, Proceed

type Score = Callable[[str, Proceed, tuple[Citation, ...]], Confidence]

MOST_UNMENTIONED = 0.35
"""Highest chance of an answer that lacks a heavy word of the question: Low, and for a person."""
HIGH, MEDIUM = 0.75, 0.5
"""Chances from which a confidence is High, or Medium."""

INTERCEPT = -9.84
WEIGHTS: Mapping[str, float] = {"coverage": 9.31, "lead": 15.61, "cosine": 6.66}
MOST_LEAD, MOST_COSINE = 0.2, 0.6
"""Beyond these a lead, or a cosine, says no more: how far apart unrelated passages are differs between corpora."""


def level_of(score: float) -> Level:
    """The level of a score (0..100) that is 100 times a chance."""
    return "High" if score >= 100 * HIGH else "Medium" if score >= 100 * MEDIUM else "Low"


def signals(asked: Asked, cited: Sequence[Hit], found: Sequence[Hit]) -> dict[str, float]:
    """What a chance is read off, by name, for an answer that cites ``cited`` of the hits ``found``.

    - coverage: how well the run of ``cited`` that answers best covers the question's weight (0..1)
    - lead: how much the best hit's score is above that of the next one that speaks of something else
    - cosine: that of the best chunk
    """
    covers = best_covers([Passage(hit=hit, citation="", text=hit.chunk.text) for hit in cited], asked.weights)
    best = max(found, key=lambda hit: hit.score)
    others = [hit.score for hit in found if hit is not best and not same_matter(hit, best)]
    return {
        "coverage": 0.0 if covers is None else float(covers @ asked.weights),
        "lead": min(MOST_LEAD, best.score - max(others)) if others else 0.0,
        "cosine": min(MOST_COSINE, max(hit.parts["dense"] for hit in found)),
    }


def log_odds(asked: Asked, cited: Sequence[Hit], found: Sequence[Hit]) -> float:
    """The logarithm of the odds that ``cited`` answers the question; see ``signals``."""
    values = signals(asked, cited, found)
    return INTERCEPT + sum(WEIGHTS[name] * value for name, value in values.items())


def chance(asked: Asked, cited: Sequence[Hit], found: Sequence[Hit], odds: tuple[float, float] = (1.0, 0.0)) -> float:
    """The chance (0..1) that ``cited`` answers the question; see ``signals``. ``odds`` are a slope and a shift."""
    slope, shift = odds
    return 1 / (1 + math.exp(-slope * log_odds(asked, cited, found) - shift))


def judged(evidence: Proceed, citations: Sequence[Citation]) -> list[Hit]:
    """The hits of ``citations`` whose tokens are known, else those of ``evidence``: what a chance is read off."""
    cited = [hit for citation in citations for hit in citation.hits if hit.match]
    return cited or [hit for hit in evidence.hits if hit.match]


@dataclass(frozen=True, slots=True)
class CalibratedConfidence:
    """The chance as score (0..100) and level; the profile's own formula ``raw`` gives the reason, where it agrees.

    Where nothing is known of the tokens of what was found, ``raw`` alone.
    """

    raw: Score

    def __call__(self, answer: str, evidence: Proceed, citations: tuple[Citation, ...]) -> Confidence:
        """The confidence in an answer that rests on ``evidence`` and cites ``citations``."""
        own = self.raw(answer, evidence, citations)
        cited = judged(evidence, citations)
        if evidence.evidence is None or not cited:
            return own
        asked = evidence.evidence.asked
        chances = chance(asked, cited, evidence.hits, evidence.evidence.odds)
        absent = not_mentioned(asked, evidence.hits)
        chances = min(chances, MOST_UNMENTIONED) if absent else chances
        level = level_of(100 * chances)
        reason = own.reason
        if own.level != level:  # its words would contradict the level
            sources = f"{len(citations)} source{'s' * (len(citations) != 1)} cited"
            reason = f"best match {max(hit.parts['dense'] for hit in evidence.hits):.0%}, {sources}"
        if absent:
            reason = f"{reason}, no mention of {' or '.join(absent)}"
        return Confidence(level, round(100 * chances, 1), reason, own.score)
