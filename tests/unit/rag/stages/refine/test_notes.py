"""rag.stages.refine.notes: the trail says what moved chunks, and nothing where nothing did."""

from __future__ import annotations

from dataclasses import replace

from fakes import make_hit

from rag.stages.refine.notes import order_notes
from rag.values.answer import Hit


def hit(number: int, **parts: float) -> Hit:
    plain = make_hit(number=number)
    return replace(plain, parts={**plain.parts, **parts})


def test_retrieval_s_own_order_needs_no_words() -> None:
    assert order_notes((hit(1), hit(2, bm25=3.0))) == ()
    assert order_notes(()) == ()


def test_votes_and_dates_are_named() -> None:
    hits = (hit(3, feedback=0.1), hit(1, newer=2.0), hit(2, feedback=-0.03))
    assert order_notes(hits) == ("ordered by readers' votes: id_3 +0.10, id_2 -0.03", "newer first: id_1")
