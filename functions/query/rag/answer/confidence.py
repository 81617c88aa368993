"""Confidence in an answer and routing by it: the seeds' formulas, a calibrated chance with token vectors, and caps.

The chance that quotes answer the question is a logistic regression over search signals, 1 / (1 + exp(-(intercept +
sum_i weight_i x signal_i))), fitted by ``python -m research.confidence quotes`` on public corpora in English, and by
``... languages`` on one in four other languages, where cosine and coverage tell nothing. The exponent is
stretched and shifted if the index's owner has labelled questions (``Evidence.odds``, ``ragctl calibrate``): a change to
a number here needs a new ``manifest.FORMAT``.

The chance that a model's answer is faithful to its sources is one over the mean support of its claims, fitted on
answers of real models that people rated (``python -m research.confidence rated ../shared/data/mtrag_rated``;
docs/evidence/answers.md has its figures). It is the chance at the base rate of that set, where 65 % of the answers are
faithful and 18 % partly; ``CONFIDENCE_SHIFT`` moves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from knowledge.model.values import EncodedQuestion, Evidence, Hit
from knowledge.search.language import ENGLISH, find_function_words, languages_of
from rag.answer.check import CHECK_FAILED, unchecked_note
from rag.answer.finish import FinishedAnswer
from rag.find.refine import near_duplicates
from rag.values.answer import Answer, CheckedClaim, Confidence, Level, Passage, Proceed, Reference, Routing
from rag.write.not_mentioned import not_mentioned
from rag.write.runs import runs_of, units_of

type Score = Callable[[FinishedAnswer, Proceed], Confidence]

NO_SOURCES = Confidence("Low", 0.0, "No relevant sources found")
NOT_ANSWERED = Confidence("Low", 0.0, "The sources found do not answer the question")

QUOTE_WEIGHTS: Mapping[str, float] = {"coverage": 5.55, "lead": 6.35, "cosine": 3.75, "intercept": -5.19}
OTHER_WEIGHTS: Mapping[str, float] = {"lead": 16.64, "intercept": -0.05}
"""The weights for passages in another language than English, which is all that the embedding model knows."""
LEAD_CAP, COSINE_CAP = 0.2, 0.6
"""Highest values of two signals: beyond them, the distance of unrelated passages differs between corpora."""
QUOTE_HIGH, QUOTE_MEDIUM = 0.75, 0.5
"""Least chances of High and Medium for quotes."""
UNMENTIONED_CAP = 0.35
"""Highest chance of quotes if no document has a word of the question, or the question is doubtful: Low."""
DOUBTFUL_CAP = 0.74
"""Highest chance of a model's answer in these cases: Medium. The model could have declined, and its claims are checked.

With a cap of 35 too, of the right answers of a double to the samples' questions .65, .67 and .64 are Medium or High
instead of .88, .83 and .86; of its answers to distant questions .10, .14 and .15 instead of .46, .38 and .49.
"""

CLAIM_WEIGHT, CLAIM_INTERCEPT = 12.55, -3.93
FAITHFUL_HIGH, FAITHFUL_MEDIUM = 0.8, 0.6
"""Least chances of High and Medium for a model's answer.

Held out by conversation, 93 % of the answers from the first on are faithful, and 38 % of those below the second.
"""
TYPICAL, PRIOR = 0.47, 2
"""The mean includes this number (``PRIOR``) of typical claims: one claim alone tells less than ten."""
UNCITED_SHARE = 0.5
"""Share of its chance that a claim without citation counts."""


@dataclass(frozen=True, slots=True)
class CalibratedConfidence:
    """The chance as score (0..100) and level; the reason has the best cosine and the number of cited sources.

    Without token vectors, the profile's own formula ``raw`` alone. ``shift`` is added to the log odds of a model's
    answer.
    """

    raw: Score
    shift: float = 0.0

    def __call__(self, answer: FinishedAnswer, evidence: Proceed) -> Confidence:
        own, signals = self.raw(answer, evidence), answer_signals(answer, evidence)
        if evidence.evidence is None or signals is None:
            return own
        is_checked = answer.claims and not answer.is_quoted
        if is_checked:
            chance = chance_faithful(answer.claims, self.shift)
        else:
            slope, shift = evidence.evidence.odds
            chance = 1 / (1 + math.exp(-(slope * log_odds(signals, weights_for(evidence)) + shift)))
        absent = not_mentioned(evidence.evidence, evidence.hits)
        if absent or evidence.doubt:
            chance = min(chance, UNMENTIONED_CAP if answer.is_quoted else DOUBTFUL_CAP)
        high, medium = (FAITHFUL_HIGH, FAITHFUL_MEDIUM) if is_checked else (QUOTE_HIGH, QUOTE_MEDIUM)
        sources = f"{_plural(len(answer.citations), 'source')} cited"
        reason = f"best match {max(hit.parts['dense'] for hit in evidence.hits):.0%}, {sources}"
        if absent:
            reason = f"{reason}, no mention of {' or '.join(absent)}"
        return Confidence(_level(chance, high, medium), round(100 * chance, 1), reason, own.score)


def answer_signals(answer: FinishedAnswer, evidence: Proceed) -> Mapping[str, float] | None:
    """Return the signals of the chance for quotes, by name; None without token vectors.

    - coverage: share of the question's weight (0..1) that the best run in the cited chunks covers
    - lead: distance of the best hit's score from that of the next hit that is no near duplicate
    - cosine: that of the best chunk
    """
    cited = [hit for citation in answer.citations for hit in citation.hits if hit.match]
    cited = cited or [hit for hit in evidence.hits if hit.match]
    if evidence.evidence is None or not cited:
        return None
    best = max(evidence.hits, key=lambda hit: hit.score)
    others = [hit.score for hit in evidence.hits if hit is not best and not near_duplicates(hit, best)]
    return {
        "coverage": _coverage(_drop_function_words(evidence.evidence), cited),
        "lead": min(LEAD_CAP, best.score - max(others)) if others else 0.0,
        "cosine": min(COSINE_CAP, max(hit.parts["dense"] for hit in evidence.hits)),
    }


def _drop_function_words(evidence: Evidence) -> EncodedQuestion:
    """Return the question; in another language than English its function words have no weight."""
    asked, language = evidence.asked, evidence.asked_in
    if language in {"", ENGLISH}:
        return asked
    light = np.zeros(len(asked.weights), dtype=bool)
    for start, end in find_function_words(asked.text, language):
        light |= (asked.spans[:, 0] >= start) & (asked.spans[:, 1] <= end) & (asked.spans[:, 0] < end)
    weights = np.where(light, np.float32(0), asked.weights)
    return replace(asked, weights=weights / weights.sum()) if weights.any() else asked


def _coverage(question: EncodedQuestion, cited: Sequence[Hit]) -> float:
    units = units_of([Passage(hit=hit, citation="", text=hit.chunk.text) for hit in cited])
    if units is None:
        return 0.0
    scores = np.array([hit.score for hit in cited], dtype=np.float32)
    _, _, covers, worth = runs_of(units, question.weights, scores - scores.max())
    return float(covers[np.argmax(worth)] @ question.weights) if len(worth) else 0.0


def weights_for(evidence: Proceed) -> Mapping[str, float]:
    """Return the weights by the language of the question, if most hits are in it.

    In an English index with a German page the lead of that page tells only that it is German.
    """
    language = evidence.evidence.asked_in if evidence.evidence else ""
    if language in {"", ENGLISH}:
        return QUOTE_WEIGHTS
    shared = sum(language in languages_of(hit.chunk.text) for hit in evidence.hits)
    return OTHER_WEIGHTS if 2 * shared > len(evidence.hits) else QUOTE_WEIGHTS


def log_odds(signals: Mapping[str, float], weights: Mapping[str, float] = QUOTE_WEIGHTS) -> float:
    """Return the logarithm of the odds of quotes with these ``signals``."""
    return sum(weight * signals.get(name, 1.0) for name, weight in weights.items())


def mean_support(claims: Sequence[CheckedClaim]) -> float:
    """Return the mean chance (0..1) of the claims, drawn towards a typical one."""
    chances = [one.chance * (1.0 if one.chunks else UNCITED_SHARE) for one in claims]
    return (sum(chances) + PRIOR * TYPICAL) / (len(chances) + PRIOR)


def chance_faithful(claims: Sequence[CheckedClaim], shift: float = 0.0) -> float:
    """Return the chance (0..1) that an answer with these claims is faithful; ``shift`` is added to its log odds."""
    return 1 / (1 + math.exp(-(CLAIM_INTERCEPT + CLAIM_WEIGHT * mean_support(claims) + shift)))


def _level(value: float, high: float, medium: float) -> Level:
    return "High" if value >= high else "Medium" if value >= medium else "Low"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAndMeanConfidence:
    """Waypoint's levels by number of chunks and their mean score; score = 100 x mean cosine, 0..100."""

    high_count: int
    high_mean: float
    medium_count: int
    medium_mean: float

    def __call__(self, answer: FinishedAnswer, evidence: Proceed) -> Confidence:
        hits = evidence.hits
        count = len(hits)
        mean = fmean(hit.score for hit in hits)
        score = round(100 * min(1.0, max(0.0, fmean(hit.parts["dense"] for hit in hits))), 1)
        percent = f"{round(100 * mean)}%"
        if count >= self.high_count and mean >= self.high_mean:
            cited = f" with {_plural(len(answer.citations), 'citation')}" if answer.citations else ""
            return Confidence("High", score, f"{_plural(count, 'relevant source')}{cited}")
        if count >= self.medium_count and mean >= self.medium_mean:
            return Confidence("Medium", score, f"{_plural(count, 'source')} found, average relevance {percent}")
        if count < self.medium_count:
            return Confidence("Low", score, f"Only {_plural(count, 'source')} found")
        return Confidence("Low", score, f"Low relevance scores (avg {percent})")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedConfidence:
    """Clockify's score: 100 x (.4 retrieval + .2 coverage + .25 citations + .15 length).

    - retrieval: the best cosine, 0 at ``floor`` (the gate's bar), 1 at ``ceiling``
    - coverage: chunks that reached the threshold, 1 at four
    - citations: valid citations, 1 at three
    - length: words, 1 at thirty; an answer of a few words rarely says enough

    High from score ``high``, Medium from ``medium``, which is no more. ``ceiling`` is more than ``floor``.
    """

    floor: float
    ceiling: float
    high: float
    medium: float

    def __call__(self, answer: FinishedAnswer, evidence: Proceed) -> Confidence:
        best = max(hit.parts["dense"] for hit in evidence.hits)
        retrieval = _share(best - self.floor, self.ceiling - self.floor)
        coverage = _share(evidence.passed, 4)
        cited = _share(len(answer.citations), 3)
        length = _share(len(answer.text.split()), 30)
        score = round(100 * (0.4 * retrieval + 0.2 * coverage + 0.25 * cited + 0.15 * length), 1)
        citations, chunks = _plural(len(answer.citations), "citation"), _plural(evidence.passed, "relevant chunk")
        reason = f"{citations}, {chunks}, best match {best:.0%}"
        return Confidence(_level(score, self.high, self.medium), score, reason)


@dataclass(frozen=True, slots=True)
class TopCosineConfidence:
    """GaCounts': score = 100 x the best cosine, 0..100; High from ``high``, Medium from ``medium`` (cosines)."""

    high: float
    medium: float

    def __call__(self, answer: FinishedAnswer, evidence: Proceed) -> Confidence:
        best = max(hit.parts["dense"] for hit in evidence.hits)
        score = round(100 * min(1.0, max(0.0, best)), 1)
        reason = f"best match {best:.0%}, {_plural(len(answer.citations), 'source')} cited"
        return Confidence(_level(best, self.high, self.medium), score, reason)


def _share(value: float, full: float) -> float:
    return min(1.0, max(0.0, value / full))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


UNCITED_SCORE = 35.0
"""Highest score (0..100) of an answer without a valid citation: below every profile's bar for returning it."""
UNVERIFIED_SCORE = 74.0
"""Highest score of an answer that was not checked completely: below High."""
MAX_UNSUPPORTED = 1 / 2
"""An answer with this share of unsupported claims or more is Low. Of MTRAG's rated answers 20 are: 15 of them are
unfaithful, 2 faithful."""
ESCALATE_BELOW = 40.0
"""Default of Clockify's seed and of the profiles whose seed has no routing."""

_LEVELS: Sequence[Level] = ("Low", "Medium", "High")

RECOGNISED = "text recognition"
"""The ``source_type`` of a scan. It lowers no level: of 38 printed pages, tilted and noisy too, the worst has
.22 % of its letters wrong."""


def _note_scans(references: Iterable[Reference]) -> list[str]:
    is_scan = any(reference.hit.chunk.source_type == RECOGNISED for reference in references)
    return [f"read by {RECOGNISED}"] if is_scan else []


def cap_confidence(
    confidence: Confidence, answer: FinishedAnswer, *, is_partial: bool = False, outdated: str = ""
) -> Confidence:
    """Return ``confidence`` with the caps for an answer's citations and claims, and a reason for each.

    Low, at most ``UNCITED_SCORE``, without a valid citation, with as many citations removed as left, or with
    ``MAX_UNSUPPORTED`` of the claims unsupported. Medium, at most ``UNVERIFIED_SCORE``, with a removed citation, if
    some or all claims are unchecked, if the answer broke off (``is_partial``), or if a claim is from a passage whose
    newer edition differs or a later message follows, as ``outdated`` says.
    """
    cited, removed, claims, unchecked = answer.cited, answer.removed, answer.claims, answer.unchecked
    unsupported = sum(claim.support == "unsupported" for claim in claims)
    flaws = {
        f"{removed} of {cited + removed} citations named nothing that was found": cited and removed,
        "no statement cites a source that was found": not cited,
        "the sources cited support no statement": cited and has_no_support(claims),
        f"{unsupported} of {len(claims)} statements not found in the sources": cited and 0 < unsupported < len(claims),
        CHECK_FAILED: unchecked is None,
        "the answer broke off": is_partial,
        outdated: outdated != "",
    }
    reasons = [confidence.reason, *(flaw for flaw, is_present in flaws.items() if is_present)]
    reasons += unchecked_note(unchecked or 0)
    reasons += _note_scans(answer.references)
    level, score = confidence.level, confidence.score
    if not cited or removed >= max(1, cited) or unsupported >= MAX_UNSUPPORTED * max(1, len(claims)):
        level, score = "Low", min(score, UNCITED_SCORE)
    elif removed or is_partial or outdated or unchecked != 0:
        level, score = min(level, "Medium", key=_LEVELS.index), min(score, UNVERIFIED_SCORE)
    return replace(confidence, level=level, score=score, reason=", ".join(reasons))


def has_no_support(claims: Sequence[CheckedClaim]) -> bool:
    """Return whether there are ``claims``, and none of them has any support."""
    return claims != () and all(claim.support == "unsupported" for claim in claims)


def add_routing(answer: Answer, route: Callable[[Answer], Routing] | None) -> Answer:
    """Return ``answer`` with its routing; an escalated answer has a Low confidence, whatever its score.

    With every ``route`` an answer is escalated that cites no source, or whose claims have no support.
    """
    routing = answer.routing
    if routing is None and not answer.refused and not answer.citations:
        routing = Routing("escalate", "No statement of the answer cites a source that was found")
    elif routing is None and has_no_support(answer.statements):
        routing = Routing("escalate", "The sources support none of the statements that were made")
    elif routing is None and route:
        routing = route(answer)
    confidence = answer.confidence
    if routing and routing.action == "escalate":
        confidence = replace(confidence, level="Low")
    return replace(answer, routing=routing, confidence=confidence)


@dataclass(frozen=True, slots=True)
class ConfidenceRouter:
    """Routes an answer by its confidence.

    An empty search result means a gap in the knowledge base. Escalated are refusals of the model and confidences below
    ``escalate_below`` (0..100); ``add_routing`` escalates answers without a source or support. All others are returned.
    """

    escalate_below: float = ESCALATE_BELOW

    def __call__(self, answer: Answer) -> Routing:
        """Return the action and its reason."""
        if answer.refused and answer.completion is None:
            return Routing("augment_kb", "Nothing relevant was found: the knowledge base may lack this topic")
        if answer.refused:
            return Routing("escalate", "The documents found do not answer the question")
        score = answer.confidence.score
        if score < self.escalate_below:
            return Routing("escalate", f"Confidence {score:g} is below {self.escalate_below:g}")
        return Routing("return", f"Confidence {score:g}")
