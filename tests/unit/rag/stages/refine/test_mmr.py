"""rag.stages.refine.mmr: it diversifies, and keeps the order by score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.refine.mmr import Mmr
from rag.types import Hit, Question

ASKED = Question(text="?")


def hit(number: int, score: float, vector: list[float]) -> Hit:
    unit = np.array(vector, dtype=np.float32)
    return replace(make_hit(number=number), score=score, vector=unit / np.linalg.norm(unit))


def numbers(hits: tuple[Hit, ...]) -> list[int]:
    return [hit.chunk.number for hit in hits]


def test_near_duplicates_make_room_for_something_else() -> None:
    # Given three copies of the best chunk and one other topic, a little less relevant
    hits = (hit(1, 0.9, [1, 0, 0]), hit(2, 0.89, [1, 0.01, 0]), hit(3, 0.88, [1, 0, 0.01]), hit(4, 0.80, [0, 1, 0.2]))

    # Then the second choice is the other topic, where plain order would take a copy
    assert numbers(Mmr(0.5, 2)(hits, ASKED)) == [1, 4]
    assert numbers(Mmr(1.0, 2)(hits, ASKED)) == [1, 2]


def test_the_chosen_keep_their_order_by_score() -> None:
    hits = (hit(1, 0.9, [1, 0, 0]), hit(2, 0.8, [0.9, 0.1, 0]), hit(3, 0.7, [0, 1, 0]), hit(4, 0.1, [0, 0, 1]))
    assert numbers(Mmr(0.75, 3)(hits, ASKED)) == [1, 2, 3]
    assert numbers(Mmr(0.0, 3)(hits, ASKED)) == [1, 3, 4]


def test_few_hits_are_left_alone() -> None:
    hits = (hit(2, 0.1, [1, 0]), hit(1, 0.1, [1, 0]))
    assert Mmr(0.75, 2)(hits, ASKED) == hits


def reference(hits: tuple[Hit, ...], weight: float, keep: int) -> set[int]:
    """Carbonell and Goldstein's rule, one pair at a time."""
    scores = [hit.score for hit in hits]
    spread = max(scores) - min(scores)
    relevance = [(score - min(scores)) / spread if spread else 1.0 for score in scores]
    chosen: list[int] = []
    while len(chosen) < keep:

        def marginal(i: int) -> float:
            likeness = max((float(hits[i].vector @ hits[j].vector) for j in chosen), default=0.0)  # type: ignore[operator]
            return weight * relevance[i] - ((1 - weight) * likeness if chosen else 0)

        chosen.append(max((i for i in range(len(hits)) if i not in chosen), key=marginal))
    return {hits[i].chunk.number for i in chosen}


@given(seed=st.integers(0, 10_000), count=st.integers(4, 15), keep=st.integers(1, 8))
def test_as_the_rule_says(seed: int, count: int, keep: int) -> None:
    random = np.random.default_rng(seed)
    scores = sorted(random.normal(size=count), reverse=True)
    hits = tuple(hit(n, float(score), list(random.normal(size=6))) for n, score in enumerate(scores))
    chosen = Mmr(0.75, keep)(hits, ASKED)
    assert set(numbers(chosen)) == (reference(hits, 0.75, keep) if count > keep else set(range(count)))
