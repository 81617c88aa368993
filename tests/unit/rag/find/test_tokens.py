"""rag.find.pack: budgets in bytes, and texts cut to them at the end of a sentence or line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.find.pack import ELLIPSIS, budget_bytes, cut_to, size


def test_clockifys_budget_is_what_its_seed_packs_at_two_and_a_half_bytes_a_token() -> None:
    assert budget_bytes(7200) == 18_000


def test_a_lone_surrogate_has_a_size() -> None:
    assert size("\ud800") == 1


TEXT = "One two three. Four five six!\nSeven eight (nine ten.) Eleven twelve"


@pytest.mark.parametrize(
    "cut",
    [
        TEXT,
        "One two three. Four five six!\nSeven eight (nine ten.) ...",
        "One two three. ...",
    ],
)
def test_it_ends_where_a_sentence_or_a_line_ends(cut: str) -> None:
    assert cut_to(TEXT, size(cut)) == cut
    assert size(cut_to(TEXT, size(cut) - 1)) < size(cut)


def test_where_no_sentence_fits_it_is_cut_at_a_word_if_it_must_be_and_at_a_character_then() -> None:
    assert cut_to(TEXT, 13) == ""
    assert cut_to(TEXT, 13, anywhere=True) == "One two ..."
    assert cut_to("a" * 100 + ". End.", 20, anywhere=True) == f"{'a' * 16} ..."
    assert cut_to(TEXT, 4, anywhere=True) == ""


def test_a_decimal_point_ends_no_sentence() -> None:
    assert cut_to("Version 3.5 of the timer is here. It is new.", 20) == ""


def test_sentences_end_in_scripts_without_spaces_and_characters_stay_whole() -> None:
    text = "\u8ba1\u65f6\u5668\u8fd0\u884c\u3002\u7cfb\u7edf\u4f1a\u8be2\u95ee\u3002\u518d\u89c1"
    assert cut_to(text, 24) == "\u8ba1\u65f6\u5668\u8fd0\u884c\u3002 ..."
    assert cut_to(text, 12, anywhere=True) == "\u8ba1\u65f6 ..."


@given(
    text=st.text(st.sampled_from("ab.! \n\u00e9\u3002\ud800"), max_size=80),
    budget=st.integers(0, 60),
    anywhere=st.booleans(),
)
def test_it_is_a_beginning_and_fits(text: str, budget: int, anywhere: bool) -> None:
    cut = cut_to(text, budget, anywhere=anywhere)
    assert size(cut) <= budget
    assert text.startswith(cut.removesuffix(f" {ELLIPSIS}"))
    assert (cut == text) == (size(text) <= budget)
