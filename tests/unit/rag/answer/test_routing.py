"""rag.answer.routing: what should happen to an answer next."""

from dataclasses import replace

import pytest
from fakes import make_answer, make_hit

from rag.answer.confidence import NO_SOURCES, NOT_ANSWERED
from rag.answer.routing import ConfidenceRouter, add_routing
from rag.values.answer import Citation, Confidence
from rag.values.chat import Completion

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
    refused = confidence in (NO_SOURCES, NOT_ANSWERED)
    answer = make_answer(confidence=confidence, refused=refused, citations=citations, completion=completion)
    assert ConfidenceRouter(40)(answer).action == action


@pytest.mark.parametrize(("score", "level"), [(79.9, "Low"), (80.0, "High")])
def test_what_goes_to_a_person_is_low_whatever_its_score(score: float, level: str) -> None:
    answer = make_answer(confidence=Confidence("High", score, ""), citations=CITED)
    found = add_routing(answer, ConfidenceRouter(80))
    assert found.routing is not None
    assert (found.confidence.level, found.routing.action == "escalate") == (level, level == "Low")
    assert add_routing(replace(answer, citations=()), None).confidence.level == "Low"
