"""rag.find.refine.min_score: the threshold."""

from __future__ import annotations

from dataclasses import replace

from fakes import make_hit

from rag.find.refine.min_score import MinScore
from rag.find.retrieve.dense import l2_scale
from rag.values.question import Question

# Cosines, of which the scale makes .5, .15, .149 and -.2; the scores of another retriever count for nothing.
COSINES = (0.75, 0.575, 0.5745, 0.4)
HITS = tuple(replace(make_hit(number=n, cosine=cosine), score=0.1 * n) for n, cosine in enumerate(COSINES, start=1))


def numbers(*, threshold: float | None, bar: float = 2 * 0.575 - 1) -> list[int]:
    return [hit.chunk.number for hit in MinScore(bar, l2_scale)(HITS, Question(text="q", threshold=threshold)).hits]


def test_a_hit_on_the_bar_passes_and_the_order_stays() -> None:
    assert numbers(threshold=None) == [1, 2]


def test_the_requests_own_threshold_wins() -> None:
    assert numbers(threshold=0.5) == [1]
    assert numbers(threshold=-1) == [1, 2, 3, 4]
    assert numbers(threshold=0.0) == [1, 2, 3]


def test_nothing_passes() -> None:
    assert numbers(threshold=0.9) == []
