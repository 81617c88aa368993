"""rag.answer.confidence.formulas: Waypoint's levels in the words of its seed, and Clockify's 0..100."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.confidence.formulas import CountAndMean, Weighted
from rag.values.answer import Citation, Confidence, Proceed
from rag.values.draft import ConfidenceInput

rule = CountAndMean(high_count=3, high_mean=0.5, medium_count=2, medium_mean=0.3)


def score(found: tuple[Hit, ...], cited: tuple[Citation, ...]) -> Confidence:
    return rule(ConfidenceInput("An answer.", cited), Proceed(found, len(found)))


def hits(*scores: float) -> tuple[Hit, ...]:
    """Hits on the L2 scale: cosine = (score + 1) / 2."""
    return tuple(replace(make_hit(cosine=(value + 1) / 2), score=value) for value in scores)


def make_citations(count: int) -> tuple[Citation, ...]:
    return tuple(
        Citation(raw=f"[T{n}]", title=f"T{n}", section="", position=n, hit=make_hit(number=n)) for n in range(count)
    )


@pytest.mark.parametrize(
    ("scores", "cited", "level", "reason"),
    [
        ([0.6] * 7, 3, "High", "7 relevant sources with 3 citations"),
        ([0.6] * 3, 1, "High", "3 relevant sources with 1 citation"),
        ([0.42] * 4, 2, "Medium", "4 sources found, average relevance 42%"),
        ([0.9, 0.9], 2, "Medium", "2 sources found, average relevance 90%"),
        ([0.9], 1, "Low", "Only 1 source found"),
        ([0.22] * 5, 1, "Low", "Low relevance scores (avg 22%)"),
        ([-0.004, -0.002], 0, "Low", "Low relevance scores (avg 0%)"),
        # the bars themselves count
        ([0.75, 0.5, 0.25], 0, "High", "3 relevant sources"),
        ([0.3, 0.3], 0, "Medium", "2 sources found, average relevance 30%"),
        ([0.3, 0.29], 0, "Low", "Low relevance scores (avg 30%)"),
    ],
)
def test_levels_and_words(scores: Sequence[float], cited: int, level: str, reason: str) -> None:
    confidence = score(hits(*scores), make_citations(cited))
    assert (confidence.level, confidence.reason) == (level, reason)


def test_the_score_is_100_times_the_mean_cosine() -> None:
    # Scores .6 and .2 are the cosines .8 and .6.
    assert score(hits(0.6, 0.2), ()).score == 70.0


def test_too_few_sources_for_a_higher_bar_are_not_called_low_scores() -> None:
    strict = replace(rule, medium_count=3)
    found = hits(0.9, 0.9)
    assert strict(ConfidenceInput("An answer.", ()), Proceed(found, 2)).reason == "Only 2 sources found"


RULE = Weighted(floor=0.4, ceiling=0.75, high=70, medium=40)
LONG = "word " * 30


def evidence(best: float, passed: int) -> Proceed:
    return Proceed((make_hit(cosine=best), make_hit(number=2, cosine=0.3)), passed)


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
    confidence = RULE(ConfidenceInput(answer, make_citations(citations)), evidence(best, passed))
    assert (confidence.score, confidence.level) == (score, level)


def test_the_reason() -> None:
    confidence = RULE(ConfidenceInput(LONG, make_citations(1)), evidence(0.58, 3))
    assert confidence.reason == "1 citation, 3 relevant chunks, best match 58%"


@given(best=st.floats(-1, 1), passed=st.integers(0, 50), citations=st.integers(0, 20), answer=st.text(max_size=200))
def test_the_score_is_a_percentage(best: float, passed: int, citations: int, answer: str) -> None:
    assert 0 <= RULE(ConfidenceInput(answer, make_citations(citations)), evidence(best, passed)).score <= 100
