"""rag.stages.score.confidence.Weighted and rag.stages.after.route: Clockify's 0..100 and what follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.after.route import ConfidenceRouter
from rag.stages.gate.thresholds import Coverage
from rag.stages.score.confidence import NO_SOURCES, NOT_ANSWERED, Weighted
from rag.values.answer import Citation, Confidence, Decline, Hit, Proceed, Question

RULE = Weighted(floor=0.4, ceiling=0.75, uncited_cap=35, high=70, medium=40)
LONG = "word " * 30


def evidence(best: float, passed: int) -> Proceed:
    return Proceed((make_hit(cosine=best), make_hit(number=2, cosine=0.3)), passed)


def cited(count: int) -> tuple[Citation, ...]:
    return tuple(
        Citation(raw=f"[id_{n}]", title="", section="", position=n, hit=make_hit(number=n)) for n in range(count)
    )


@pytest.mark.parametrize(
    ("answer", "best", "passed", "citations", "score", "level"),
    [
        (LONG, 0.75, 4, 3, 100.0, "High"),
        (LONG, 0.9, 9, 9, 100.0, "High"),
        (LONG, 0.4, 4, 3, 60.0, "Medium"),
        (LONG, 0.575, 2, 3, 70.0, "High"),
        (LONG, 0.75, 4, 0, 35.0, "Low"),
        ("Yes.", 0.4, 2, 1, 18.8, "Low"),
        (f"{LONG} perhaps", 0.75, 4, 3, 85.0, "High"),
        (f"{LONG} perhaps, or it might be, I am not sure", 0.75, 4, 3, 70.0, "High"),
        (f"{LONG} you may from 5 May 5", 0.75, 4, 3, 100.0, "High"),
    ],
)
def test_the_formula(answer: str, best: float, passed: int, citations: int, score: float, level: str) -> None:
    confidence = RULE(answer, evidence(best, passed), cited(citations))
    assert (confidence.score, confidence.level) == (score, level)


def test_the_reason() -> None:
    assert RULE(LONG, evidence(0.58, 3), cited(1)).reason == "1 citation, 3 relevant chunks, best match 58%"


@given(best=st.floats(-1, 1), passed=st.integers(0, 50), citations=st.integers(0, 20), answer=st.text(max_size=200))
def test_the_score_is_a_percentage(best: float, passed: int, citations: int, answer: str) -> None:
    assert 0 <= RULE(answer, evidence(best, passed), cited(citations)).score <= 100


@pytest.mark.parametrize(
    ("confidence", "refused_by", "action"),
    [
        (NO_SOURCES, "gate", "augment_kb"),
        (NOT_ANSWERED, "model", "escalate"),
        (Confidence("Low", 39.9, ""), None, "escalate"),
        (Confidence("Medium", 40, ""), None, "return"),
        (Confidence("High", 90, ""), None, "return"),
    ],
)
def test_routing(confidence: Confidence, refused_by: str | None, action: str) -> None:
    assert ConfidenceRouter(40)(confidence, refused_by).action == action  # type: ignore[arg-type]


# --- the gate before it


def hits(*cosines: float) -> tuple[Hit, ...]:
    return tuple(replace(make_hit(number=n, cosine=cosine), score=9.0) for n, cosine in enumerate(cosines))


@pytest.mark.parametrize(
    ("cosines", "outcome"),
    [
        ([0.4, 0.25], 2),
        ([0.6, 0.5, 0.1], 2),
        ([0.4], "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        ([0.39, 0.3], "the best chunk's cosine is 0.39, 0.4 needed"),
        ([0.5, 0.249], "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        ([], "0 chunks cover the question (cosine >= 0.25), 2 needed"),
    ],
)
def test_coverage_reads_the_cosine(cosines: list[float], outcome: int | str) -> None:
    found = hits(*cosines)
    expected = Decline(outcome) if isinstance(outcome, str) else Proceed(found, outcome)
    assert Coverage(2, 0.25, 0.4)(found, Question(text="?")) == expected


def test_a_threshold_of_the_request_decides_alone() -> None:
    gate = Coverage(2, 0.25, 0.4)
    assert gate(hits(0.3, 0.28), Question(text="?", threshold=0.27)) == Proceed(hits(0.3, 0.28), 2)
    assert gate(hits(0.9, 0.6), Question(text="?", threshold=0.7)) == Decline(
        "1 chunk covers the question (cosine >= 0.7), 2 needed"
    )
