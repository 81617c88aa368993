"""rag.answer.confidence: the caps on a confidence, and the next step for an answer."""

from dataclasses import replace
from typing import Any

import pytest
from fakes import make_answer, make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.confidence import NO_SOURCES, NOT_ANSWERED, ConfidenceRouter, add_routing, cap_confidence
from rag.answer.finish import FinishedAnswer
from rag.values.answer import CheckedClaim, Citation, Confidence, Support
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
    routing = add_routing(answer, ConfidenceRouter(40)).routing
    assert routing is not None
    assert routing.action == action


@pytest.mark.parametrize(("score", "level"), [(79.9, "Low"), (80.0, "High")])
def test_what_goes_to_a_person_is_low_whatever_its_score(score: float, level: str) -> None:
    answer = make_answer(confidence=Confidence("High", score, ""), citations=CITED)
    found = add_routing(answer, ConfidenceRouter(80))
    assert found.routing is not None
    assert (found.confidence.level, found.routing.action == "escalate") == (level, level == "Low")
    assert add_routing(replace(answer, citations=()), None).confidence.level == "Low"


# --- caps

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
