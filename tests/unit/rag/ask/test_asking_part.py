"""What asks in a long message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.ask.admission import LONGEST_QUESTION, asking_part

MAIL = "We met Mr. Kessler on Tuesday. He was pleased, and so were we. " * 8
ASKS = "My bike is late. What does a second day cost?"


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        (f"{MAIL}\n\n{ASKS}", ASKS),
        (f"{MAIL}\n\n{ASKS}\n\nBest regards,\nAnna Kessler", ASKS),
        (f"How are you all? {MAIL}\n\n{MAIL}\n\nMy bike is late.\nWhat does a second day cost?", ASKS),
        (f"{ASKS}\n\n{MAIL}", ASKS),
        (f"{MAIL}\n\nprice of a permit", "price of a permit"),
        (
            f"Use the context.\n\n{MAIL}\n\nQuestion: the price of a day\nHelpful Answer:",
            "Question: the price of a day Helpful Answer:",
        ),
    ],
    ids=["mail, question", "signature", "two that ask", "question, mail", "mail, words", "template"],
)
def test_the_last_paragraph_that_asks_is_the_query(text: str, asking: str) -> None:
    assert asking_part(text) == asking


def test_of_a_long_paragraph_the_sentences_that_ask_are_the_query() -> None:
    assert asking_part(f"{MAIL} {ASKS} Thanks!").endswith(ASKS)
    assert len(asking_part(f"{MAIL} {ASKS} Thanks!")) < 200


@pytest.mark.parametrize("text", ["x" * 500, MAIL, MAIL[:LONGEST_QUESTION], "What? " * 66, ASKS, "\u200b \n\n" * 400])
def test_what_is_short_or_does_not_ask_stays_as_it_is(text: str) -> None:
    assert asking_part(text) == text


@given(st.text(alphabet="ab?. \n", min_size=401, max_size=1500))
def test_what_asks_is_no_longer_than_a_question(text: str) -> None:
    part = asking_part(text)
    assert part == text or 0 < len(part) <= LONGEST_QUESTION
