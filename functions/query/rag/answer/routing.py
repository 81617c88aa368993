"""Last decisions on an answer: the cap on its confidence, its routing, and the answer that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.answer.check import CHECK_FAILED, unchecked_note
from rag.answer.confidence import NO_SOURCES
from rag.answer.finish import FinishedAnswer, render_plain_answer
from rag.values.answer import Answer, CheckedClaim, Confidence, Decline, Level, Routing
from rag.values.request import PreparedQuestion

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


def cap_confidence(
    confidence: Confidence, answer: FinishedAnswer, *, is_partial: bool = False, is_outdated: bool = False
) -> Confidence:
    """Return ``confidence`` with the caps for an answer's citations and claims, and a reason for each.

    Low, at most ``UNCITED_SCORE``, without a valid citation, with as many citations removed as left, or with
    ``MAX_UNSUPPORTED`` of the claims unsupported. Medium, at most ``UNVERIFIED_SCORE``, with a removed citation, if
    some or all claims are unchecked, if the answer broke off (``is_partial``), or if a claim is from a passage whose
    newer edition differs (``is_outdated``).
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
        "a newer edition differs": is_outdated,
    }
    reasons = [confidence.reason, *(flaw for flaw, is_present in flaws.items() if is_present)]
    reasons += unchecked_note(unchecked or 0)
    level, score = confidence.level, confidence.score
    if not cited or removed >= max(1, cited) or unsupported >= MAX_UNSUPPORTED * max(1, len(claims)):
        level, score = "Low", min(score, UNCITED_SCORE)
    elif removed or is_partial or is_outdated or unchecked != 0:
        level, score = min(level, "Medium", key=_LEVELS.index), min(score, UNVERIFIED_SCORE)
    return replace(confidence, level=level, score=score, reason=", ".join(reasons))


def has_no_support(claims: Sequence[CheckedClaim]) -> bool:
    """Return whether there are ``claims``, and none of them has any support."""
    return claims != () and all(claim.support == "unsupported" for claim in claims)


def add_routing(answer: Answer, route: Callable[[Answer], Routing] | None) -> Answer:
    """Return ``answer`` with its routing; an escalated answer has a Low confidence, whatever its score."""
    routing = answer.routing or check_escalation(answer) or (route(answer) if route else None)
    confidence = answer.confidence
    if routing and routing.action == "escalate":
        confidence = replace(confidence, level="Low")
    return replace(answer, routing=routing, confidence=confidence)


def check_escalation(answer: Answer) -> Routing | None:
    """Return the escalation of an answer that cites no source, or whose claims have no support.

    None for every other answer, and for a refusal.
    """
    if not answer.refused and not answer.citations:
        return Routing("escalate", "No statement of the answer cites a source that was found")
    if has_no_support(answer.statements):
        return Routing("escalate", "The sources support none of the statements that were made")
    return None


@dataclass(frozen=True, slots=True)
class ConfidenceRouter:
    """Routes an answer by its citations and its confidence.

    An empty search result means a gap in the knowledge base. Escalated are refusals of the model, answers without a
    source or support, and confidences below ``escalate_below`` (0..100). All others are returned.
    """

    escalate_below: float = ESCALATE_BELOW

    def __call__(self, answer: Answer) -> Routing:
        """Return the action and its reason."""
        if answer.refused and answer.completion is None:
            return Routing("augment_kb", "Nothing relevant was found: the knowledge base may lack this topic")
        if answer.refused:
            return Routing("escalate", "The documents found do not answer the question")
        if routing := check_escalation(answer):
            return routing
        score = answer.confidence.score
        if score < self.escalate_below:
            return Routing("escalate", f"Confidence {score:g} is below {self.escalate_below:g}")
        return Routing("return", f"Confidence {score:g}")


def build_decline(prepared: PreparedQuestion, *, profile: str, text: str, response_id: str) -> Answer:
    """Return the answer ``text``, or the reply of the decision in its place; the trail has the reason."""
    decline = prepared.decision if isinstance(prepared.decision, Decline) else Decline("")
    reason = (decline.reason,) if decline.reason else ()
    markdown, nodes = render_plain_answer(decline.reply or text, decline.items)
    return Answer(
        text=markdown,
        nodes=nodes,
        question=prepared.question,
        profile=profile,
        response_id=response_id,
        confidence=Confidence("Low", 0.0, decline.why) if decline.reply else NO_SOURCES,
        refused=True,
        routing=Routing("return", decline.why) if decline.reply else None,
        closest=prepared.closest,
        trail=(*prepared.query.trail, *reason),
    )
