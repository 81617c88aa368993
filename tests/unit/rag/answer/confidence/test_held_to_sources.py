"""rag.answer.confidence.held_to_sources: confidence as far as citations, and what they say, bear it out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answer.confidence.held_to_sources import held_to_sources
from rag.values.answer import Confidence, Statement, Support

HIGH = Confidence("High", 80.0, "3 relevant sources")


@pytest.mark.parametrize(
    ("cited", "removed", "expected"),
    [
        (2, 0, HIGH),
        (0, 0, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (0, 4, Confidence("Low", 35.0, "3 relevant sources, no statement cites a source that was found")),
        (3, 1, Confidence("Medium", 60.0, "3 relevant sources, 1 of 4 citations named nothing that was found")),
        (1, 3, Confidence("Low", 20.0, "3 relevant sources, 3 of 4 citations named nothing that was found")),
    ],
)
def test_invented_and_missing_citations_lower_the_confidence(cited: int, removed: int, expected: Confidence) -> None:
    assert held_to_sources(HIGH, cited=cited, removed=removed) == expected


def test_nothing_supported_is_low_and_a_share_without_support_lowers_it() -> None:
    def held(*supports: Support, doubt: float, removed: int = 0) -> Confidence:
        statements = tuple(Statement(text="s", citations=(), support=one, chance=0.5) for one in supports)
        return held_to_sources(HIGH, cited=4, removed=removed, statements=statements, doubt=doubt)

    assert held("supported", "supported", doubt=0.0) == HIGH
    assert held("supported", "partial", doubt=0.0) == Confidence(
        "Medium", 74.0, f"{HIGH.reason}, 1 of 2 statements in other words than the sources"
    )
    one = held("supported", "supported", "unsupported", "supported", doubt=0.25)
    assert one == Confidence("Medium", 60.0, f"{HIGH.reason}, 1 of 4 statements not found in the sources")
    assert held("supported", "unsupported", doubt=0.5).level == "Low"
    nothing = held("unsupported", "unsupported", doubt=1.0)
    assert nothing == Confidence("Low", 35.0, f"{HIGH.reason}, the sources cited support no statement")
    # What was removed and what has no support are often one and the same: the larger share counts, not both.
    assert held("supported", "unsupported", doubt=0.5, removed=4).score == 40.0


@pytest.mark.parametrize(("doubt", "level"), [(0.0, "High"), (0.25, "Medium"), (0.5, "Low")])
def test_the_level_of_a_chance_is_that_of_what_is_left_of_it(doubt: float, level: str) -> None:
    statements = tuple(Statement(text="s", citations=(), support="supported", chance=0.5) for _ in range(2))
    chance = Confidence("High", 90.0, "r", raw=50.0)
    held = held_to_sources(chance, cited=2, removed=0, statements=statements, doubt=doubt)
    assert (held.level, held.score) == (level, 90 * (1 - doubt))


@given(st.floats(0, 100), st.sampled_from(["High", "Medium", "Low"]), st.integers(0, 9), st.integers(0, 9))
def test_the_citations_never_raise_it(score: float, level: str, cited: int, removed: int) -> None:
    before = Confidence(level, round(score, 1), "r")  # type: ignore[arg-type]
    after = held_to_sources(before, cited=cited, removed=removed)
    assert 0 <= after.score <= before.score
    assert "Low Medium High".index(after.level) <= "Low Medium High".index(level)
    assert after.level != "High" or cited


def test_part_of_an_answer_is_never_high() -> None:
    held = held_to_sources(HIGH, cited=2, removed=0, partial=True)
    assert held == Confidence("Medium", 74.0, f"{HIGH.reason}, the answer broke off")
    low = Confidence("Low", 20.0, "r")
    assert held_to_sources(low, cited=2, removed=0, partial=True).level == "Low"


def test_an_answer_that_was_not_checked_as_a_whole_is_never_high() -> None:
    held = held_to_sources(HIGH, cited=2, removed=0, unchecked=3)
    assert held == Confidence("Medium", 74.0, f"{HIGH.reason}, 3 statements not checked: the answer is too long")
