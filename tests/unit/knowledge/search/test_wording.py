"""What a text says in letters: what stands together, names, numbers, negations."""

from __future__ import annotations

import pytest

from knowledge.search.terms import Terms
from knowledge.search.wording import NOT, names, wording

TERMS = Terms(["the", "is", "are", "of", "not", "no", "a", "in", "for"])


def test_negations_are_one_stem_and_stop_words_part_nothing() -> None:
    pairs = wording("The permit is not needed for samples", TERMS).pairs()

    assert pairs == {("permit", NOT), (NOT, "need"), ("need", "sampl")}
    assert pairs == wording("Permit isn't needed: samples", TERMS).pairs()


def test_pairs_reach_as_far_as_asked() -> None:
    assert ("permit", "sampl") not in wording("permits for small samples", TERMS).pairs()
    assert ("permit", "sampl") in wording("permits for small samples", TERMS).pairs(2)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It costs 1,200.50 dollars", {"1200.5"}),
        ("Kept for five years from 2019", {"5", "2019"}),
        ("from 9:30 on 24.12.2025", {"9:30", "24.12.2025"}),
        ("nothing to count", set()),
    ],
)
def test_numbers_have_one_spelling(text: str, numbers: set[str]) -> None:
    assert wording(text, TERMS).numbers == numbers


def test_a_name_begins_no_sentence_and_comes_with_its_stem() -> None:
    found = names("Yes. However, Dr. Kestrel of Jakarta Shipping asked. They waited", TERMS)

    assert found == {
        frozenset(("dr",)),
        frozenset(("kestrel",)),
        frozenset(("jakarta",)),
        frozenset(("shipping", "ship")),
    }


def test_where_a_negation_stands_is_told_in_characters() -> None:
    text = "Samples cannot leave Jakarta."
    (negation,) = wording(text, TERMS).negations

    assert (text[negation.start :][:6], negation.after) == ("cannot", "leav")
    assert negation.around == {"sampl", "leav", "jakarta"}
