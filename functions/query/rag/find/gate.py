"""The gate: decide whether the hits support an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from knowledge.model.values import SearchResult
from rag.values.answer import Decline, Proceed
from rag.values.question import Question


def require_hit(found: SearchResult, _: Question) -> Proceed | Decline:
    """Proceed if a hit is left."""
    if found.hits:
        return Proceed(found.hits, len(found.hits), found.evidence)
    return Decline("0 chunks passed the threshold, 1 needed")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Proceeds if at least ``count`` hits have a cosine of ``threshold``.

    The plain dense cosine (-1..1) counts, not a fused score. The request's threshold replaces this one. If the request
    asks for fewer chunks than ``count``, or its filters leave fewer, all of these must reach the threshold.
    """

    count: int
    threshold: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        threshold = self.threshold if question.threshold is None else question.threshold
        count = min(self.count, question.top_k or self.count)
        if question.filters:
            count = min(count, max(1, len(found.hits)))
        passed = sum(hit.parts["dense"] >= threshold for hit in found.hits)
        if passed < count:
            covering = "1 chunk covers" if passed == 1 else f"{passed} chunks cover"
            return Decline(f"{covering} the question (cosine >= {threshold:g}), {count} needed")
        return Proceed(found.hits, passed, found.evidence)  # a chunk below it may hold the very words


@dataclass(frozen=True, slots=True)
class TopScore:
    """Proceeds if the best hit has a cosine of ``bar`` (-1..1); the request's threshold replaces it.

    The plain dense cosine counts, not the order by feedback or re-ranking.
    """

    bar: float

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        bar = self.bar if question.threshold is None else question.threshold
        cosines = [hit.parts["dense"] for hit in found.hits]
        if not cosines:
            return Decline("nothing was found")
        if max(cosines) < bar:
            return Decline(f"the best chunk's cosine is {max(cosines):.2f}, {bar:g} needed")
        return Proceed(found.hits, sum(cosine >= bar for cosine in cosines), found.evidence)


OTHER_LANGUAGE = "The question is in another language than the documents"
UNMEASURED_BAR = 0.4
"""The cosine that the best chunk needs without a measured bar, for all-MiniLM-L6-v2."""


@dataclass(frozen=True, slots=True)
class EvidenceGate:
    """Proceeds if the plain cosine of the best chunk reaches the threshold of the request or of the settings.

    If ``threshold`` is None and the request has none, the index's bar decides: the score that 95 % of unrelated
    questions stay below, or the bar fitted to its owner's labels. Somewhat below the bar it proceeds with a doubt,
    unless ``doubts`` is off. An index without a measured bar needs a cosine of ``UNMEASURED_BAR``.

    A question that the documents answer is answered in any language. A declined or doubtful one in another language
    than theirs gets a reply that says so.
    """

    threshold: float | None = None
    doubts: bool = True

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with all hits, or decline and name the closest.

        ``passed`` counts the hits with the threshold's cosine, or ``UNMEASURED_BAR`` if the index's bar decided.
        """
        decision, evidence = self._judge(found, question), found.evidence
        sure = isinstance(decision, Proceed) and not decision.doubt
        if sure or evidence is None or not evidence.foreign:
            return decision
        reply = f"{OTHER_LANGUAGE}. Please ask in theirs."
        if theirs := evidence.language:
            reply = f"The documents are in {theirs}, and your question is not. Please ask in {theirs}."
        return Decline(decision.reason if isinstance(decision, Decline) else decision.doubt, reply, OTHER_LANGUAGE)

    def _judge(self, found: SearchResult, question: Question) -> Proceed | Decline:
        if not found.hits:
            return Decline("nothing was found")
        wanted = self.threshold if question.threshold is None else question.threshold
        least = UNMEASURED_BAR if wanted is None else wanted
        passed = sum(hit.parts["dense"] >= least for hit in found.hits)
        proceed = Proceed(found.hits, max(1, passed), found.evidence)
        best = max(found.hits, key=lambda hit: hit.parts["dense"])
        title = " > ".join(part for part in (best.chunk.title, best.chunk.section) if part)
        closest, evidence = f"the closest was {title!r} (cosine {best.parts['dense']:.2f}", found.evidence
        if wanted is None and evidence is not None and evidence.bar is not None:
            if evidence.score >= evidence.bar:
                return proceed
            reason = f"{closest}; evidence {evidence.score:.2f}, {evidence.bar:.2f} needed)"
            if self.doubts and evidence.doubt is not None and evidence.score >= evidence.doubt:
                return replace(proceed, doubt=f"doubtful: {reason}")
            return Decline(reason)
        return proceed if passed else Decline(f"{closest}, {least:g} needed)")
