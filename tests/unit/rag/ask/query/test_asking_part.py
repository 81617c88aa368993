"""What asks in a long message."""

import pytest

from rag.ask.query.asking_part import LONG, asking_part

MAIL = "Dear all,\n\n" + "The lamps of Mr Kessler are painted in Augsburg. " * 9 + "\n\nKind regards\nKarin Kessler"


@pytest.mark.parametrize("message", ["How much?", "a\n\nb", "Why? " * (LONG // 5)])
def test_what_is_no_longer_than_a_question_stays_as_it_is(message: str) -> None:
    assert asking_part(message) == message


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (f"{MAIL}\n\nWe came late. What does\nit cost?", "We came late. What does it cost?"),
        (f"{MAIL}\n\nprice of a permit", "price of a permit"),
        (f"What does it cost?\n\n{MAIL}", "What does it cost? Kind regards Karin Kessler"),
        (f"Use the context.\n\n{MAIL}\n\nQuestion: Which permit?\n\nAnswer:", "Question: Which permit? Answer:"),
        (
            f"{MAIL} Is it open on every Sunday? {'Thanks for the catalogue of lamps. ' * 14}",
            "Is it open on every Sunday?",
        ),
    ],
    ids=["mail, question", "mail, words", "question, mail", "template", "in one paragraph"],
)
def test_the_sentences_that_ask_are_the_query(message: str, part: str) -> None:
    assert asking_part(message).endswith(part)
    assert len(asking_part(message)) < LONG


@pytest.mark.parametrize("message", ["The fee of a permit is what I ask about. " * 20, "\u200b \n\n" * LONG])
def test_where_nothing_tells_what_asks_the_message_stays_as_it_is(message: str) -> None:
    assert asking_part(message) == message
