"""rag.stages.score.support: which words of a question are nowhere in what was found."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import make_hit
from fakes_evidence import make_asked, matched

from rag.stages.score.support import not_mentioned, words_of
from rag.values.answer import Asked

FOUND = "An import permit costs forty dollars. Policies of the county are kept."


def absent(question: str, **weights: float) -> tuple[str, ...]:
    return not_mentioned(make_asked(question, **weights), [matched(make_hit(FOUND), question)])


def test_the_heavy_word_that_is_nowhere() -> None:
    assert absent("What does a permit cost in Ohio?", ohio=0.5) == ("Ohio",)


def test_neighbours_are_one_phrase_and_the_heaviest_are_named() -> None:
    assert absent("permit at Rock Eagle or Macon", rock=0.4, eagle=0.4, macon=0.3) == ("Rock Eagle",)
    assert absent("permit in Ohio or Macon", ohio=0.4, macon=0.4) == ("Ohio", "Macon")


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        ("What does a permit cost?", {"permit": 0.5}),
        ("policy of the county", {"policy": 0.5}),  # by its stem
        ("What would you do?", {"would": 0.5}),  # grammar alone
        ("permit for a llama", {"permit": 0.9, "llama": 0.01}),  # light
    ],
)
def test_what_is_there_light_or_grammar_is_not_named(question: str, weights: dict[str, float]) -> None:
    assert absent(question, **weights) == ()


def test_what_another_word_says_is_not_named() -> None:
    asked = make_asked("permit price", price=0.5)
    for near, named in ((0.6, ()), (0.45, ("price",))):
        assert not_mentioned(asked, [matched(make_hit(FOUND), asked.text, near={"costs": near})]) == named


def test_pieces_that_touch_are_one_word() -> None:
    spans = np.array([(0, 3), (3, 7), (8, 9)], dtype=np.int32)
    asked = Asked(text="Zendesk x", vector=np.zeros(1, np.float32), spans=spans, weights=np.full(3, 1 / 3, np.float32))
    assert [(word.start, word.end, word.first) for word in words_of(asked)] == [(0, 7, 0), (8, 9, 2)]


def test_without_matches_nothing_is_said() -> None:
    assert not_mentioned(make_asked("Ohio"), [make_hit(FOUND)]) == ()


def test_a_word_that_is_nearly_spelt_as_one_that_is_there_is_mentioned() -> None:
    asked = make_asked("Ohoi prices")
    assert "Ohoi" in not_mentioned(asked, [matched(make_hit("Prices are in Utah."), asked.text)])[0]
    assert not_mentioned(make_asked("pricse"), [matched(make_hit("Prices are in Utah."), "pricse")]) == ()
