"""rag.answer.confidence and held_to_sources: the seeds' levels, as far as citations bear them out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.answer.confidence import CountAndMeanConfidence, WeightedConfidence
from rag.answer.finish import FinishedAnswer
from rag.answer.routing import cap_confidence
from rag.values.answer import CheckedClaim, Citation, Confidence, ConfidenceInput, Proceed, Support

rule = CountAndMeanConfidence(high_count=3, high_mean=0.5, medium_count=2, medium_mean=0.3)


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


RULE = WeightedConfidence(floor=0.4, ceiling=0.75, high=70, medium=40)
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


HIGH = Confidence("High", 80.0, "3 relevant sources")


def finished(**fields: Any) -> FinishedAnswer:
    return FinishedAnswer(text="", nodes=(), refused=False, **fields)


@pytest.mark.parametrize(
    ("cited", "removed", "expected"),
    [
        (2, 0, HIGH),
        (0, 0, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (0, 4, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (3, 1, Confidence("Medium", 74.0, "3 relevant sources, 1 of 4 citations named nothing that was found")),
        (1, 3, Confidence("Low", 35.0, "3 relevant sources, 3 of 4 citations named nothing that was found")),
    ],
)
def test_invented_and_missing_citations_lower_the_confidence(cited: int, removed: int, expected: Confidence) -> None:
    assert cap_confidence(HIGH, finished(cited=cited, removed=removed)) == expected


def test_nothing_supported_is_low_and_a_statement_without_support_is_told() -> None:
    def capped(*supports: Support) -> Confidence:
        statements = tuple(CheckedClaim(text="s", citations=(), support=one, chance=0.5) for one in supports)
        return cap_confidence(HIGH, finished(cited=4, claims=statements))

    assert capped("supported", "partial") == HIGH
    one = capped("supported", "supported", "unsupported", "supported")
    assert one == Confidence("High", 80.0, f"{HIGH.reason}, 1 of 4 statements not found in the sources")
    half = capped("supported", "unsupported")
    assert half == Confidence("Low", 35.0, f"{HIGH.reason}, 1 of 2 statements not found in the sources")
    nothing = capped("unsupported", "unsupported")
    assert nothing == Confidence("Low", 35.0, f"{HIGH.reason}, the sources cited support no statement")


@given(st.floats(0, 100), st.sampled_from(["High", "Medium", "Low"]), st.integers(0, 9), st.integers(0, 9))
def test_the_citations_never_raise_it(score: float, level: str, cited: int, removed: int) -> None:
    before = Confidence(level, round(score, 1), "r")  # type: ignore[arg-type]
    after = cap_confidence(before, finished(cited=cited, removed=removed))
    assert 0 <= after.score <= before.score
    assert "Low Medium High".index(after.level) <= "Low Medium High".index(level)
    assert after.level != "High" or cited


def test_part_of_an_answer_is_never_high() -> None:
    held = cap_confidence(HIGH, finished(cited=2), is_partial=True)
    assert held == Confidence("Medium", 74.0, f"{HIGH.reason}, the answer broke off")
    low = Confidence("Low", 20.0, "r")
    assert cap_confidence(low, finished(cited=2), is_partial=True).level == "Low"


def test_an_answer_that_was_not_checked_as_a_whole_is_never_high() -> None:
    held = cap_confidence(HIGH, finished(cited=2, unchecked=3))
    assert held == Confidence("Medium", 74.0, f"{HIGH.reason}, 3 statements not checked: the answer is too long")
