"""The gate that asks the evidence: does this index hold an answer to this question?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from knowledge.model.values import Hit, SearchResult
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

UNMEASURED_BAR = 0.4
"""The cosine that the best chunk needs where nothing else is known: all-MiniLM-L6-v2's (DESIGN.md, decision 11)."""


@dataclass(frozen=True, slots=True)
class EvidenceGate:
    """Proceeds when the best chunk's plain cosine reaches the threshold that a person set, in the request or here.

    Where nobody set one (``threshold`` is None) the index's own bar decides: the score that 95 % of questions about
    nothing stay below in it, or what its owner's labels gave. Somewhat below that it proceeds too, and says that it
    doubts, unless ``doubts`` is off. An index in which no bar was measured asks for a cosine of ``UNMEASURED_BAR``.
    """

    threshold: float | None = None
    doubts: bool = True

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """Proceed with all hits, or Decline with what came closest.

        ``passed`` counts the hits that have the cosine; where the index's bar decided, that of an index without one.
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
    """The hit's place as a reader knows it, in quotes."""
    return repr(" > ".join(part for part in (hit.chunk.title, hit.chunk.section) if part))
