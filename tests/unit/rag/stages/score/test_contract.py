"""rag.stages.score.contract: what an answer's form says of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.profiles import clockify, gacounts, waypoint
from rag.stages.score.contract import begins_with_decline, held_to_citations, says_nothing
from rag.values.answer import Confidence

HIGH = Confidence("High", 80.0, "3 relevant sources")


@pytest.mark.parametrize("profile", [waypoint, gacounts, clockify])
def test_every_profiles_own_sentence_is_a_refusal(profile: object) -> None:
    decline: str = profile.DECLINE  # type: ignore[attr-defined]
    sentence = decline.split(". ")[0].rstrip(".")
    for said in (decline, sentence, f"**{sentence}.** It only covers timers [id_3].", f'"{sentence.upper()}"'):
        assert begins_with_decline(said, decline)
    assert begins_with_decline(sentence.replace("'", "\u2019"), decline)
    assert not begins_with_decline(f"Press Start. {sentence}.", decline)


def test_other_english_is_not_read() -> None:
    for said in (
        "No, the documentation does not have to be in English [Title].",
        "I don't know based on the MDX guide.",
    ):
        assert not begins_with_decline(said, clockify.DECLINE)


@pytest.mark.parametrize(
    ("text", "nothing"), [("", True), ("- \u3010Fees\u3011, **[id_3]**.", True), ("5 [id_3]", False)]
)
def test_nothing_is_left(text: str, nothing: bool) -> None:
    assert says_nothing(text) is nothing


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
    assert held_to_citations(HIGH, cited=cited, removed=removed) == expected


@given(st.floats(0, 100), st.sampled_from(["High", "Medium", "Low"]), st.integers(0, 9), st.integers(0, 9))
def test_the_citations_never_raise_it(score: float, level: str, cited: int, removed: int) -> None:
    before = Confidence(level, round(score, 1), "r")  # type: ignore[arg-type]
    after = held_to_citations(before, cited=cited, removed=removed)
    assert 0 <= after.score <= before.score
    assert "Low Medium High".index(after.level) <= "Low Medium High".index(level)
    assert after.level != "High" or cited
