"""rag.answer.confidence.formulas.Weighted: Clockify's 0..100."""

from __future__ import annotations

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.confidence.formulas import Weighted
from rag.values.answer import Citation, Proceed
from rag.values.draft import ConfidenceInput

RULE = Weighted(floor=0.4, ceiling=0.75, high=70, medium=40)
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
        (LONG, 0.75, 4, 0, 75.0, "High"),
        ("Yes.", 0.4, 2, 1, 18.8, "Low"),
    ],
)
def test_the_formula(answer: str, best: float, passed: int, citations: int, score: float, level: str) -> None:
    confidence = RULE(ConfidenceInput(answer, cited(citations)), evidence(best, passed))
    assert (confidence.score, confidence.level) == (score, level)


def test_the_reason() -> None:
    assert (
        RULE(ConfidenceInput(LONG, cited(1)), evidence(0.58, 3)).reason
        == "1 citation, 3 relevant chunks, best match 58%"
    )


@given(best=st.floats(-1, 1), passed=st.integers(0, 50), citations=st.integers(0, 20), answer=st.text(max_size=200))
def test_the_score_is_a_percentage(best: float, passed: int, citations: int, answer: str) -> None:
    assert 0 <= RULE(ConfidenceInput(answer, cited(citations)), evidence(best, passed)).score <= 100
