"""rag.find.gate.other_language: a decline that tells the documents' language."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import make_hit
from fakes_evidence import make_evidence

from knowledge.model.values import SearchResult
from rag.find.gate.evidence import EvidenceGate
from rag.find.gate.other_language import LanguageGate
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

GATE = LanguageGate(EvidenceGate())
ASKED = Question(text="Wie viele Tage?")


def found(score: float, *, foreign: bool, language: str = "English") -> SearchResult:
    evidence = replace(make_evidence(ASKED.text, score=score, bar=0.3), foreign=foreign, language=language)
    return SearchResult((make_hit("An import permit takes five days."),), evidence)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("English", "The documents are in English, and your question is not. Please ask in English."),
        ("", "The question is in another language than the documents. Please ask in theirs."),
    ],
)
def test_a_decline_tells_the_documents_language(language: str, reply: str) -> None:
    decision = GATE(found(0.1, foreign=True, language=language), ASKED)
    assert isinstance(decision, Decline)
    assert decision.reply == reply
    assert "needed" in decision.reason


def test_what_is_answered_or_in_the_same_language_is_as_the_gate_says() -> None:
    assert isinstance(GATE(found(0.9, foreign=True), ASKED), Proceed)
    decision = GATE(found(0.1, foreign=False), ASKED)
    assert isinstance(decision, Decline)
    assert decision.reply == ""
