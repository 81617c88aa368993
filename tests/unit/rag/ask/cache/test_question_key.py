"""rag.ask.cache.answer_cache: which spellings share an answer, and which signs make another question."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.ask.cache.answer_cache import question_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is X?", "what is x"),
        ("  What   is\tX ?! ", "What is X."),
        ("What does the WHO do?", "what does the who do?"),
        ("\u4ec0\u4e48\u662f\u589e\u503c\u7a0e\uff1f", "\u4ec0\u4e48\u662f\u589e\u503c\u7a0e"),
    ],
)
def test_case_blanks_and_the_final_mark_do_not_count(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C++?", "What is C?"),
        ("Is it 10\u00b2?", "Is it 102?"),
        ("Is it -5?", "Is it 5?"),
        ("Is it 1.5?", "Is it 15?"),
        ("What is .NET?", "What is NET?"),
    ],
)
def test_every_other_sign_counts(one: str, other: str) -> None:
    assert question_key(one) != question_key(other)


@given(st.text(), st.sampled_from(["", "?", " ?", "...", "!"]))
def test_a_composed_and_a_decomposed_spelling_share_a_key_whatever_ends_them(text: str, end: str) -> None:
    asked = f"What is {text}x"
    assert question_key(normalize("NFD", f" {asked}{end}\n")) == question_key(normalize("NFC", asked))


@given(st.integers(), st.integers())
def test_different_numbers_are_different_questions(one: int, other: int) -> None:
    assert (question_key(f"rate {one}?") == question_key(f"Rate {other}.")) == (one == other)
