"""cut_to: within the budget, at the end of a sentence or line, and not asking for counts that bytes settle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.pack.cutting import ELLIPSIS, cut_to

TEXT = "One two three. Four five six!\nSeven eight (nine ten.) Eleven twelve"


def words(text: str) -> int:
    return len(text.split())


def words_and_marks(text: str) -> int:
    """A count with tokens shorter than words: one for each four bytes begun of a word."""
    return sum(-(-len(word.encode()) // 4) for word in text.split())


@pytest.mark.parametrize(
    ("budget", "cut"),
    [
        (12, TEXT),
        (11, "One two three. Four five six!\nSeven eight (nine ten.) ..."),
        (10, "One two three. Four five six! ..."),
        (7, "One two three. Four five six! ..."),
        (6, "One two three. ..."),
        (4, "One two three. ..."),
        (3, ""),
        (0, ""),
    ],
)
def test_it_ends_where_a_sentence_or_a_line_ends(budget: int, cut: str) -> None:
    assert cut_to(TEXT, budget, words) == cut


def test_a_first_sentence_that_is_too_long_is_cut_at_a_word_when_it_must_be() -> None:
    assert cut_to(TEXT, 3, words, anywhere=True) == "One two ..."


def test_a_first_word_that_is_too_long_is_cut_at_a_character_when_it_must_be() -> None:
    assert cut_to("a" * 100 + ". End.", 5, words_and_marks, anywhere=True) == f"{'a' * 16} ..."


def test_a_decimal_point_ends_no_sentence() -> None:
    assert cut_to("Version 3.5 of the timer is here. It is new.", 5, words) == ""


def test_sentences_end_in_scripts_without_spaces_too() -> None:
    text = "\u8ba1\u65f6\u5668\u8fd0\u884c\u3002\u7cfb\u7edf\u4f1a\u8be2\u95ee\u3002\u518d\u89c1"
    assert cut_to(text, 12, len) == "\u8ba1\u65f6\u5668\u8fd0\u884c\u3002 ..."


def test_a_text_of_no_more_bytes_than_the_budget_is_not_counted() -> None:
    def never(text: str) -> int:
        raise AssertionError(f"asked to count {text!r}")

    assert cut_to("\u00e9t\u00e9", 5, never) == "\u00e9t\u00e9"


def test_bytes_are_those_that_a_tokenizer_may_see() -> None:
    # Given a character of 3 bytes that normalises to two of 3
    assert cut_to("\u0f76", 3, lambda text: 6 if text else 0) == ""


@given(
    text=st.text(st.sampled_from("ab.! \n\u00e9\u3002\ud800"), max_size=80),
    budget=st.integers(0, 30),
    anywhere=st.booleans(),
)
def test_it_is_a_beginning_and_fits(text: str, budget: int, anywhere: bool) -> None:
    cut = cut_to(text, budget, words_and_marks_of_anything, anywhere=anywhere)
    assert words_and_marks_of_anything(cut) <= budget
    assert text.startswith(cut.removesuffix(f" {ELLIPSIS}"))
    if words_and_marks_of_anything(text) <= budget:
        assert cut == text


def words_and_marks_of_anything(text: str) -> int:
    return words_and_marks(text.replace("\ud800", "?"))
