"""Routing: what should happen to an answer next."""

from __future__ import annotations

from dataclasses import dataclass

from rag.values.answer import Confidence, RefusedBy, Routing

ESCALATE_BELOW = 40.0
"""Clockify's seed's, and that of the profiles whose seed routes nothing."""


@dataclass(frozen=True, slots=True)
class ConfidenceRouter:
    """Refused by the gate: the knowledge base lacks something. Refused by the model, or below ``escalate_below``
    (0..100): a person should answer. Else the answer goes back as it is."""

    escalate_below: float = ESCALATE_BELOW

    def __call__(self, confidence: Confidence, refused_by: RefusedBy | None) -> Routing:
        """The action and the reason for it."""
        if refused_by == "gate":
            return Routing("augment_kb", "Nothing relevant was found: the knowledge base may lack this topic")
        if refused_by == "model":
            return Routing("escalate", "The documents found do not answer the question")
        if confidence.score < self.escalate_below:
            return Routing("escalate", f"Confidence {confidence.score:g} is below {self.escalate_below:g}")
        return Routing("return", f"Confidence {confidence.score:g}")
