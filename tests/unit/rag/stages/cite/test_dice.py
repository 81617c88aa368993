"""rag.stages.cite.by_title: the coefficient over character bigrams."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.cite.by_title import dice

TEXTS = st.text(max_size=40)


def bigrams(text: str) -> Counter[str]:
    return Counter(a + b for a, b in pairwise(text))


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ("night", "nacht", 0.25),  # the textbook example: ht is shared, 2 * 1 / (4 + 4)
        ("context", "contact", 6 / 12),  # co, on, nt
        ("aaaa", "aa", 2 * 1 / (3 + 1)),  # bigrams count as often as they occur
        ("Import Permits", "import permits", 1.0),
        ("  Import permits ", "Import permits", 1.0),
        ("abc", "xyz", 0.0),
        ("", "", 0.0),
        ("", "abc", 0.0),
        ("   ", "abc", 0.0),
        ("a", "a", 1.0),
        ("a", "b", 0.0),  # no bigrams at all: no division by zero
        ("a", "ab", 0.0),
    ],
)
def test_known_values(a: str, b: str, value: float) -> None:
    assert dice(a, b) == pytest.approx(value, abs=1e-12)


@given(TEXTS, TEXTS)
def test_symmetric_and_between_0_and_1(a: str, b: str) -> None:
    assert dice(a, b) == dice(b, a)
    assert 0.0 <= dice(a, b) <= 1.0


@given(TEXTS)
def test_a_text_is_like_itself_in_any_case(text: str) -> None:
    expected = 1.0 if text.strip() else 0.0
    assert dice(text, text) == expected
    assert dice(text, text.casefold()) == expected


@given(st.text("abAB ", max_size=12), st.text("abAB ", max_size=12))
def test_1_exactly_when_nothing_distinguishes_the_two(a: str, b: str) -> None:
    left, right = a.lower().strip(), b.lower().strip()
    same = left != "" and (left == right or (len(left) > 1 and bigrams(left) == bigrams(right)))
    assert (dice(a, b) == 1.0) is same
