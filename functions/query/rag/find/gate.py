"""The gate: decide whether the hits support an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from knowledge.model.values import Hit, SearchResult
from rag.values.answer import Decline, Proceed
from rag.values.question import Question


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Proceeds if at least ``count`` hits are left."""

    count: int

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        hits = found.hits
        if len(hits) >= self.count:
            return Proceed(hits, len(hits), found.evidence)
        return Decline(f"{_count_chunks(len(hits))} passed the threshold, {self.count} needed")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Proceeds if at least ``count`` hits have a cosine of ``threshold``.

    The plain dense cosine (-1..1) counts, not a fused score. The request's threshold replaces this one. If the request
    asks for fewer chunks than ``count``, or its filters leave fewer, all of these must reach the threshold.
    """

    count: int
    threshold: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        hits = found.hits
        threshold = self.threshold if question.threshold is None else question.threshold
        count = min(self.count, question.top_k or self.count)
        if question.filters:
            count = min(count, max(1, len(hits)))
        passed = sum(hit.parts["dense"] >= threshold for hit in hits)
        if passed < count:
            verb = "covers" if passed == 1 else "cover"
            return Decline(f"{_count_chunks(passed)} {verb} the question (cosine >= {threshold:g}), {count} needed")
        return Proceed(hits, passed, found.evidence)  # a chunk below the threshold may hold the answer's very words


@dataclass(frozen=True, slots=True)
class TopScore:
    """Proceeds if the best hit has a cosine of ``bar`` (-1..1); the request's threshold replaces it.

    The plain dense cosine counts, not the order by feedback or re-ranking.
    """

    bar: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        hits = found.hits
        bar = self.bar if question.threshold is None else question.threshold
        cosines = [hit.parts["dense"] for hit in hits]
        if not cosines:
            return Decline("nothing was found")
        if max(cosines) < bar:
            return Decline(f"the best chunk's cosine is {max(cosines):.2f}, {bar:g} needed")
        return Proceed(hits, sum(cosine >= bar for cosine in cosines), found.evidence)


def _count_chunks(number: int) -> str:
    return "1 chunk" if number == 1 else f"{number} chunks"


UNMEASURED_BAR = 0.4
"""The cosine that the best chunk needs without a measured bar, for all-MiniLM-L6-v2 (DESIGN.md, decision 11)."""


@dataclass(frozen=True, slots=True)
class EvidenceGate:
    """Proceeds if the plain cosine of the best chunk reaches the threshold of the request or of the settings.

    If ``threshold`` is None and the request has none, the index's bar decides: the score that 95 % of unrelated
    questions stay below, or the bar fitted to its owner's labels. Somewhat below the bar it proceeds with a doubt,
    unless ``doubts`` is off. An index without a measured bar needs a cosine of ``UNMEASURED_BAR``.
    """

    threshold: float | None = None
    doubts: bool = True

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with all hits, or decline and name the closest.

        ``passed`` counts the hits with the threshold's cosine, or ``UNMEASURED_BAR`` if the index's bar decided.
        """
        if not found.hits:
            return Decline("nothing was found")
        asked = self.threshold if question.threshold is None else question.threshold
        least = UNMEASURED_BAR if asked is None else asked
        best = max(found.hits, key=_cosine)
        evidence = found.evidence
        if asked is None and evidence is not None and evidence.bar is not None:
            if evidence.score < evidence.bar:
                reached = f"evidence {evidence.score:.2f}, {evidence.bar:.2f} needed"
                reason = f"the closest was {_name(best)} (cosine {_cosine(best):.2f}; {reached})"
                if self.doubts and evidence.doubt is not None and evidence.score >= evidence.doubt:
                    return replace(self._proceed(found, least), doubt=f"doubtful: {reason}")
                return Decline(reason)
        elif _cosine(best) < least:
            return Decline(f"the closest was {_name(best)} (cosine {_cosine(best):.2f}, {least:g} needed)")
        return self._proceed(found, least)

    def _proceed(self, found: SearchResult, least: float) -> Proceed:
        return Proceed(found.hits, max(1, sum(_cosine(hit) >= least for hit in found.hits)), found.evidence)


def _cosine(hit: Hit) -> float:
    return hit.parts["dense"]


def _name(hit: Hit) -> str:
    """Return title and section of the hit, in quotes."""
    return repr(" > ".join(part for part in (hit.chunk.title, hit.chunk.section) if part))


OTHER_LANGUAGE = "The question is in another language than the documents"


@dataclass(frozen=True, slots=True)
class LanguageGate:
    """Decides as ``gate`` does, but a declined or doubtful question in another language gets a reply that says so.

    A question that the documents answer is answered in any language.
    """

    gate: Callable[[SearchResult, Question], Proceed | Decline]

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        decision, evidence = self.gate(found, question), found.evidence
        sure = isinstance(decision, Proceed) and not decision.doubt
        if sure or evidence is None or not evidence.foreign:
            return decision
        theirs = evidence.language
        reply = f"{OTHER_LANGUAGE}. Please ask in theirs."
        if theirs:
            reply = f"The documents are in {theirs}, and your question is not. Please ask in {theirs}."
        return Decline(decision.reason if isinstance(decision, Decline) else decision.doubt, reply, OTHER_LANGUAGE)
