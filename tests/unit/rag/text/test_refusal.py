"""rag.text.refusal: answers that say they are none."""

from __future__ import annotations

import pytest

from rag.profiles.waypoint import DECLINE
from rag.text.refusal import is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        DECLINE,
        "I don't have specific information about that in the knowledge base.",
        "I don’t have specific information about that.",
        "I don't know based on the MD.",
        "I do not know.",
        "I'm sorry, but I don't have enough information to answer.",
        "Sorry, I cannot find that.",
        "Unfortunately, I could not find anything about it.",
        "Unfortunately the context does not mention a fee.",
        "Based on the provided context, I cannot answer this.",
        "The provided context does not contain information about that.",
        "The documentation doesn't mention it.",
        "The knowledge base does not cover this.",
        "I am unable to answer that.",
        "I'm unable to find that in the sources.",
        "I’m not able to answer that.",
        "There is no information about that in the sources.",
        "**I don't know.**",
        "  i don't know",
    ],
)
def test_refusals(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Permits take five working days.",
        "The permit does not cover strategic goods.",
        "You need a permit. I don't know the fee.",
        "The information on the form must match the invoice.",
        "I know: five days.",
        "Sorry is not a word that customs uses.",
        "The context of the shipment matters.",
    ],
)
def test_answers(answer: str) -> None:
    assert not is_refusal(answer)


@pytest.mark.parametrize("opening", ["-", " ", "* ", "| --- "])
def test_a_long_run_of_marks_is_read_once(opening: str) -> None:
    # Quadratic or cubic backtracking over this would take minutes.
    assert not is_refusal(opening * 50_000 + "x")
    assert is_refusal(opening * 50_000 + "I don't know.")
