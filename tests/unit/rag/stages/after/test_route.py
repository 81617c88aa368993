"""rag.stages.after.route: what should happen to an answer next."""

from __future__ import annotations

import pytest
from fakes import make_hit

from rag.stages.after.route import ConfidenceRouter
from rag.stages.score.confidence import NO_SOURCES, NOT_ANSWERED
from rag.values.answer import Answer, Citation, Completion, Confidence, Question

CITED = (Citation(raw="[id_1]", title="", section="", position=0, hit=make_hit(number=1)),)
WRITTEN = Completion(text="x", model="m")


@pytest.mark.parametrize(
    ("confidence", "citations", "completion", "action"),
    [
        (NO_SOURCES, (), None, "augment_kb"),
        (NOT_ANSWERED, (), WRITTEN, "escalate"),
        (Confidence("Low", 39.9, ""), CITED, WRITTEN, "escalate"),
        (Confidence("Medium", 40, ""), CITED, WRITTEN, "return"),
        (Confidence("High", 90, ""), CITED, WRITTEN, "return"),
        (Confidence("High", 90, ""), (), WRITTEN, "escalate"),
    ],
)
def test_routing(
    confidence: Confidence, citations: tuple[Citation, ...], completion: Completion | None, action: str
) -> None:
    answer = Answer(
        text="x",
        question=Question(text="q"),
        profile="clockify",
        response_id="r",
        confidence=confidence,
        refused=confidence in (NO_SOURCES, NOT_ANSWERED),
        citations=citations,
        completion=completion,
    )
    assert ConfidenceRouter(40)(answer).action == action
