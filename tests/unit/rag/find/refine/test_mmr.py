"""rag.find.refine.mmr: it diversifies, takes copies last, and keeps the order by score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.find.refine.mmr import REPEAT_COSINE, Mmr
from rag.profiles.clockify import Knobs
from rag.values.answer import RefinedHits
from rag.values.question import Question

ASKED = Question(text="?")
LAMBDA = Knobs().mmr_lambda


def hit(number: int, score: float, vector: list[float], text: str = "Permits take five working days.") -> Hit:
    unit = np.array(vector, dtype=np.float32)
    return replace(make_hit(text, number=number), score=score, vector=unit / np.linalg.norm(unit))


def numbers(found: RefinedHits) -> list[int]:
    return [hit.chunk.number for hit in found.hits]


COPIES = tuple(hit(n, 0.9 - n / 100, [1, 0.01 * n, 0]) for n in range(4))
OTHERS = (hit(8, 0.4, [0, 1, 0]), hit(9, 0.3, [0, 0, 1]))


def test_at_the_profiles_lambda_copies_of_the_best_chunk_make_room_for_other_topics() -> None:
    # Given four copies, and two other topics that are far less relevant
    assert LAMBDA == 0.75
    assert numbers(Mmr(LAMBDA, 3)((*COPIES, *OTHERS), ASKED)) == [0, 8, 9]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [("What are the rates?", [1, 3]), ("What were the rates of 2023 and 2025?", [1, 2])],
)
def test_of_two_editions_the_better_one_is_taken_unless_the_question_names_what_only_the_other_holds(
    question: str, chosen: list[int]
) -> None:
    hits = (
        hit(1, 0.9, [1, 0, 0], "The rates of 2025 are higher."),
        hit(2, 0.8, [1, 0.1, 0], "The rates of 2023 are lower."),
        hit(3, 0.7, [0, 1, 0], "Tea is served at four."),
    )
    assert numbers(Mmr(LAMBDA, 2)(hits, Question(text=question))) == chosen


def test_likeness_counts_below_a_copy_too() -> None:
    # Given a chunk much like the best one, but no copy, and another topic that is a little less relevant
    hits = (hit(1, 0.9, [1, 0]), hit(2, 0.8, [0.9, 0.5]), hit(3, 0.79, [0, 1]), hit(4, 0.3, [-1, 0]))
    assert numbers(Mmr(LAMBDA, 2)(hits, ASKED)) == [1, 3]
    assert numbers(Mmr(1.0, 2)(hits, ASKED)) == [1, 2]


def test_a_score_beyond_every_cosine_does_not_make_the_others_equal() -> None:
    # Given an exact word that one chunk alone holds: its fused score is huge. Hit 2 is near it, hit 3 is about nothing
    hits = (hit(1, 9.0, [1, 0, 0]), hit(2, 0.5, [0.8, 0.6, 0]), hit(3, 0.1, [0, 0, 1]))
    assert numbers(Mmr(LAMBDA, 2)(hits, ASKED)) == [1, 2]


def test_the_chosen_keep_their_order_by_score() -> None:
    hits = (hit(1, 0.9, [1, 0, 0]), hit(2, 0.8, [0.8, 0.6, 0]), hit(3, 0.7, [0, 1, 0]), hit(4, 0.1, [0, 0, 1]))
    assert numbers(Mmr(0.75, 3)(hits, ASKED)) == [1, 2, 3]
    assert numbers(Mmr(0.0, 3)(hits, ASKED)) == [1, 3, 4]


def test_few_hits_are_left_alone() -> None:
    hits = (hit(2, 0.1, [1, 0]), hit(1, 0.1, [1, 0]))
    assert Mmr(0.75, 2)(hits, ASKED).hits == hits


def reference(hits: tuple[Hit, ...], weight: float, keep: int) -> set[int]:
    """Carbonell and Goldstein's rule, copies last, one pair at a time."""
    scores = [min(1.0, hit.score) for hit in hits]
    spread = max(scores) - min(scores)
    relevance = [(score - min(scores)) / spread if spread else 1.0 for score in scores]
    chosen: list[int] = []
    while len(chosen) < keep:

        def marginal(i: int) -> tuple[bool, float]:
            likeness = max((float(hits[i].vector @ hits[j].vector) for j in chosen), default=0.0)  # type: ignore[operator]
            return likeness <= REPEAT_COSINE, weight * relevance[i] - (1 - weight) * likeness

        chosen.append(max((i for i in range(len(hits)) if i not in chosen), key=marginal))
    return {hits[i].chunk.number for i in chosen}


@given(seed=st.integers(0, 10_000), count=st.integers(4, 15), keep=st.integers(1, 8), dimensions=st.integers(2, 6))
def test_as_the_rule_says(seed: int, count: int, keep: int, dimensions: int) -> None:
    random = np.random.default_rng(seed)
    scores = sorted(random.normal(size=count), reverse=True)
    hits = tuple(hit(n, float(score), list(random.normal(size=dimensions))) for n, score in enumerate(scores))
    chosen = Mmr(0.75, keep)(hits, ASKED)
    assert set(numbers(chosen)) == (reference(hits, 0.75, keep) if count > keep else set(range(count)))
