"""rag.stages.gate: do the hits support an answer?"""

from __future__ import annotations

from fakes import make_hit

from rag.stages.gate import AtLeast
from rag.types import Decline, Proceed, Question

ASKED = Question(text="Which permit?")


def test_one_hit_is_enough_for_one() -> None:
    hits = (make_hit(),)
    assert AtLeast(1)(hits, ASKED) == Proceed(hits, len(hits))


def test_no_hit_is_a_decline_with_its_reason() -> None:
    assert AtLeast(1)((), ASKED) == Decline("0 chunks passed the threshold, 1 needed")


def test_one_below_the_bar_is_a_decline() -> None:
    assert isinstance(AtLeast(2)((make_hit(),), ASKED), Decline)
