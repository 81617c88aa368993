"""Confidence as a chance: how likely it is that quotes answer the question, or that a model was faithful.

A logistic regression over what the search knows of quotes, chance = 1 / (1 + exp(-(intercept + sum_i weight_i x
signal_i))); ``rag.answer.confidence.written`` has that of what a model wrote. ``python -m research.confidence`` fitted
it on public corpora. The exponent is stretched and shifted where the index's owner has labelled questions
(``Evidence.odds``, ``ragctl calibrate``): whoever changes a number here raises ``manifest.FORMAT``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.model.values import EncodedQuestion, Hit
from rag.answer.confidence.written import chance_faithful, level_of_written
from rag.find.refine import near_duplicates
from rag.values.answer import Confidence, ConfidenceInput, Level, Passage, Proceed
from rag.write.not_mentioned import not_mentioned
from rag.write.runs import runs_of, units_of

type Score = Callable[[ConfidenceInput, Proceed], Confidence]

MOST_UNMENTIONED = 0.35
"""Highest chance of a quote where no document has a word of the question, or the question is doubtful: Low."""
MOST_DOUBTFUL = 0.74
"""Highest chance of what a model wrote then: Medium. It could have declined, and what it says was checked.

Held to 35 too, of the right answers of a double to the samples' questions .65, .67 and .64 are Medium or High instead
of .88, .83 and .86; of its answers to what is far .10, .14 and .15 instead of .46, .38 and .49.
"""
HIGH, MEDIUM = 0.75, 0.5
"""Chances from which a confidence is High, or Medium."""

QUOTED: Mapping[str, float] = {"coverage": 5.55, "lead": 6.35, "cosine": 3.75, "intercept": -5.19}
MOST_LEAD, MOST_COSINE = 0.2, 0.6
"""Beyond these a signal says no more: how far apart unrelated passages are differs between corpora."""


def level_of(score: float) -> Level:
    """The level of a score (0..100) that is 100 times a chance."""
    return "High" if score >= 100 * HIGH else "Medium" if score >= 100 * MEDIUM else "Low"


def signals(said: ConfidenceInput, found: Proceed) -> Mapping[str, float] | None:
    """What a chance is read off, by name; None where nothing is known of the tokens of what was found.

    - coverage: how well the run of what is cited that answers best covers the question's weight (0..1)
    - lead: how much the best hit's score is above that of the next one that speaks of something else
    - cosine: that of the best chunk
    """
    evidence = found.evidence
    if evidence is None:
        return None
    cited = [hit for citation in said.citations for hit in citation.hits if hit.match]
    cited = cited or [hit for hit in found.hits if hit.match]
    return _quoted(evidence.asked, cited, found.hits) if cited else None


def _quoted(asked: EncodedQuestion, cited: Sequence[Hit], found: Sequence[Hit]) -> Mapping[str, float]:
    best = max(found, key=lambda hit: hit.score)
    others = [hit.score for hit in found if hit is not best and not near_duplicates(hit, best)]
    return {
        "coverage": _coverage(asked, cited),
        "lead": min(MOST_LEAD, best.score - max(others)) if others else 0.0,
        "cosine": min(MOST_COSINE, max(hit.parts["dense"] for hit in found)),
    }


def _coverage(asked: EncodedQuestion, cited: Sequence[Hit]) -> float:
    units = units_of([Passage(hit=hit, citation="", text=hit.chunk.text) for hit in cited])
    if units is None:
        return 0.0
    scores = np.array([hit.score for hit in cited], dtype=np.float32)
    _, _, covers, worth = runs_of(units, asked.weights, scores - scores.max())
    return float(covers[np.argmax(worth)] @ asked.weights) if len(worth) else 0.0


def log_odds(values: Mapping[str, float], weights: Mapping[str, float] = QUOTED) -> float:
    """The logarithm of the odds by ``weights``, of an answer with these ``signals``."""
    return sum(weight * values.get(name, 1.0) for name, weight in weights.items())


def chance(values: Mapping[str, float], odds: tuple[float, float] = (1.0, 0.0)) -> float:
    """The chance (0..1) that an answer with these ``signals`` is right; ``odds`` are a slope and a shift for quotes."""
    slope, shift = odds
    return _probability(slope * log_odds(values) + shift)


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


@dataclass(frozen=True, slots=True)
class CalibratedConfidence:
    """The chance as score (0..100) and level; the reason tells the best cosine and how many sources are cited.

    Where nothing is known of the tokens of what was found, the profile's own formula ``raw`` alone.
    """

    raw: Score
    shift: float = 0.0

    def __call__(self, said: ConfidenceInput, found: Proceed) -> Confidence:
        """The confidence in what was ``said``, which rests on what was ``found``."""
        own, values = self.raw(said, found), signals(said, found)
        if found.evidence is None or values is None:
            return own
        is_checked = said.statements and not said.quoted
        likely = chance_faithful(said.statements, self.shift) if is_checked else chance(values, found.evidence.odds)
        absent = not_mentioned(found.evidence, found.hits)
        if absent or found.doubt:
            likely = min(likely, MOST_UNMENTIONED if said.quoted else MOST_DOUBTFUL)
        level = level_of_written(likely) if is_checked else level_of(100 * likely)
        sources = f"{len(said.citations)} source{'s' * (len(said.citations) != 1)} cited"
        reason = f"best match {max(hit.parts['dense'] for hit in found.hits):.0%}, {sources}"
        if absent:
            reason = f"{reason}, no mention of {' or '.join(absent)}"
        return Confidence(level, round(100 * likely, 1), reason, own.score)
