"""The gate's no to a question in another language than the documents: the reply says so.

It is asked only where the gate declines or doubts: a question that the documents answer is answered in any language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from knowledge.model.values import SearchResult
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

OTHER_LANGUAGE = "The question is in another language than the documents"


@dataclass(frozen=True, slots=True)
class LanguageGate:
    """Decides as ``gate`` does, unless what it declines or doubts is in another language: the reply is theirs then."""

    gate: Callable[[SearchResult, Question], Proceed | Decline]

    def __call__(self, found: SearchResult, question: Question) -> Proceed | Decline:
        """See ``rag.slots.Gate``."""
        decision, evidence = self.gate(found, question), found.evidence
        sure = isinstance(decision, Proceed) and not decision.doubt
        if sure or evidence is None or not evidence.foreign:
            return decision
        theirs = evidence.language
        reply = f"{OTHER_LANGUAGE}. Please ask in theirs."
        if theirs:
            reply = f"The documents are in {theirs}, and your question is not. Please ask in {theirs}."
        return Decline(decision.reason if isinstance(decision, Decline) else decision.doubt, reply, OTHER_LANGUAGE)
