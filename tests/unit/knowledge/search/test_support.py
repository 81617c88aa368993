"""The chance that a statement is borne out, from its signals."""

from __future__ import annotations

import pytest

from knowledge.search.support import MET, PARTIAL, SUPPORTED, WEIGHTS, probability

VERBATIM = dict.fromkeys(WEIGHTS, 0.0) | {"weakest": MET, "together": 1.0}


def test_what_a_passage_says_word_for_word_is_supported() -> None:
    assert probability(VERBATIM) > SUPPORTED


@pytest.mark.parametrize("signal", ["numbers", "affirmed"])
def test_one_wrong_number_or_a_lost_negation_is_enough_to_doubt(signal: str) -> None:
    assert probability(VERBATIM | {signal: -1.0, "together": 0.8}) < PARTIAL


def test_what_has_nothing_in_common_with_a_passage_is_unsupported() -> None:
    assert probability(VERBATIM | {"weakest": 0.2, "together": 0.0}) < PARTIAL


def test_other_words_for_the_same_are_not_unsupported() -> None:
    assert probability(VERBATIM | {"together": 0.2}) > PARTIAL
