"""What a reply says, compared with what a right answer says."""

from __future__ import annotations

import pytest

from evaluate.words import contains, squad_tokens, token_f1, without_marks


@pytest.mark.parametrize(
    ("reply", "gold"),
    [
        ("It costs **SGD 45** for each.", "sgd 45"),
        ("GST is 9 % of the value.", "9 %"),
        ("the Shipper\u2019s\n office", "shipper's office"),
        ("| Reefer | 2 / 2 days |", "reefer 2 / 2 days"),
        ("税率は9%です", "税率は9%"),
        ("税率は9%です", "9%"),
        ("Rate: 9.", "9"),
    ],
)
def test_a_reply_holds_gold_words_in_any_case_spacing_and_markup(reply: str, gold: str) -> None:
    assert contains(reply, gold)


@pytest.mark.parametrize(
    ("reply", "gold"),
    [
        ("GST is 19 %.", "9 %"),
        ("It is 0.9 %.", "9 %"),
        ("It is 9.5 days.", "9"),
        ("It came late.", "ate"),
        ("SGD 15 per month", "SGD 1.5 per month"),
        ("anything", " "),
    ],
)
def test_a_part_of_a_number_or_word_is_no_gold(reply: str, gold: str) -> None:
    assert not contains(reply, gold)


def test_token_f1_is_squads() -> None:
    # "cat sat" against "cat sat on mat": precision 1, recall 1/2
    assert token_f1("The cat, sat!", "a cat sat on the mat") == pytest.approx(2 / 3)
    assert token_f1("dog", "cat") == 0
    assert squad_tokens("An apple's the U.S. one") == ["apples", "us", "one"]


def test_citation_marks_are_taken_out_and_links_stay() -> None:
    text = "Pay SGD 45 [Fees > Release]. See [the form](https://a.example/f)."

    assert without_marks(text, ["[Fees > Release]", "[the form](https://a.example/f)"]) == (
        "Pay SGD 45 . See [the form](https://a.example/f)."
    )
