"""Routing: what should happen to an answer next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rag.answer.confidence.caps import nothing_supported
from rag.values.answer import Answer, Routing

ESCALATE_BELOW = 40.0
"""Clockify's seed's, and that of the profiles whose seed routes nothing."""


def routed(answer: Answer, route: Callable[[Answer], Routing] | None) -> Answer:
    """``answer`` with what should happen to it; what goes to a person has a Low confidence, whatever its score."""
    routing = answer.routing or escalated(answer) or (route(answer) if route else None)
    confidence = answer.confidence
    if routing and routing.action == "escalate":
        confidence = replace(confidence, level="Low")
    return replace(answer, routing=routing, confidence=confidence)


def escalated(answer: Answer) -> Routing | None:
    """To a person with what cites no source that was found, and with what its sources do not support.

    None for every other answer, and for what its writer declined.
    """
    if not answer.refused and not answer.citations:
        return Routing("escalate", "No statement of the answer cites a source that was found")
    if nothing_supported(answer.statements):
        return Routing("escalate", "The sources support none of the statements that were made")
    return None


@dataclass(frozen=True, slots=True)
class ConfidenceRouter:
    """Where an answer goes.

    Where nothing was found the knowledge base lacks something. A person should answer what the model declined, what
    cites no source that was found, and what is below ``escalate_below`` (0..100). The rest goes back as it is.
    """

    escalate_below: float = ESCALATE_BELOW

    def __call__(self, answer: Answer) -> Routing:
        """The action and the reason for it."""
        if answer.refused and answer.completion is None:
            return Routing("augment_kb", "Nothing relevant was found: the knowledge base may lack this topic")
        if answer.refused:
            return Routing("escalate", "The documents found do not answer the question")
        if routing := escalated(answer):
            return routing
        score = answer.confidence.score
        if score < self.escalate_below:
            return Routing("escalate", f"Confidence {score:g} is below {self.escalate_below:g}")
        return Routing("return", f"Confidence {score:g}")
