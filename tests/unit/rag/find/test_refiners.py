"""rag.find.refine without votes and without a model: the threshold, newer first, diversity."""

from dataclasses import replace
from itertools import permutations
from random import Random

import numpy as np
import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.find.refine import REPEAT_COSINE, MinScore, Mmr, NewerFirst
from rag.find.retrieve import l2_scale
from rag.profiles.clockify import ClockifySettings
from rag.values.answer import RefinedHits
from rag.values.question import Question

# Cosines, of which the scale makes .5, .15, .149 and -.2; the scores of another retriever count for nothing.
COSINES = (0.75, 0.575, 0.5745, 0.4)
HITS = tuple(replace(make_hit(number=n, cosine=cosine), score=0.1 * n) for n, cosine in enumerate(COSINES, start=1))


def passing(*, threshold: float | None, bar: float = 2 * 0.575 - 1) -> list[int]:
    return [hit.chunk.number for hit in MinScore(bar, l2_scale)(HITS, Question(text="q", threshold=threshold)).hits]


def test_a_hit_on_the_bar_passes_and_the_order_stays() -> None:
    assert passing(threshold=None) == [1, 2]


def test_the_requests_own_threshold_wins() -> None:
    assert passing(threshold=0.5) == [1]
    assert passing(threshold=-1) == [1, 2, 3, 4]
    assert passing(threshold=0.0) == [1, 2, 3]


def test_nothing_passes() -> None:
    assert passing(threshold=0.9) == []


WIDTH = 0.02


def guide(number: int, score: float, year: int | None) -> Hit:
    return replace(make_hit(number=number, dated=(year or 0) * 10_000, cosine=0.5), score=score)


def order(*hits: Hit) -> list[int]:
    return [found.chunk.number for found in NewerFirst(WIDTH)(hits, ASKED).hits]


def test_the_newer_of_two_that_score_alike_comes_first() -> None:
    assert order(guide(1, 0.81, 2023), guide(2, 0.80, 2025)) == [2, 1]
    assert order(guide(1, 0.83, 2023), guide(2, 0.80, 2025)) == [1, 2]


def test_of_two_that_score_alike_the_one_of_the_year_that_is_asked_for_comes_first() -> None:
    titled = replace(guide(1, 0.80, 2025), chunk=replace(guide(1, 0.80, 2025).chunk, title="Policy 2023"))
    found = NewerFirst(WIDTH)((guide(2, 0.81, 2024), titled), Question(text="The rates of 2023?"))
    assert found.hits[0] is titled
    assert found.trail == ("of 2023, then newer first: id_1",)
    by_date = NewerFirst(WIDTH)((guide(2, 0.81, 2024), guide(3, 0.80, 2023)), Question(text="The rates of 2023?"))
    assert [h.chunk.number for h in by_date.hits] == [3, 2]


def test_where_pairs_are_alike_in_a_chain_the_top_decides() -> None:
    # .80 ~ .79 ~ .775 but not .80 ~ .775: the seed's comparator has no answer here.
    hits = (guide(1, 0.80, 2021), guide(2, 0.79, 2022), guide(3, 0.775, 2023), guide(4, 0.765, 2024))
    for shuffled in permutations(hits):
        assert order(*shuffled) == [2, 1, 4, 3]


def test_the_undated_come_last_and_the_better_score_breaks_ties() -> None:
    assert order(guide(1, 0.805, None), guide(2, 0.80, 2020), guide(3, 0.80, None), guide(4, 0.801, 2020)) == [
        4,
        2,
        1,
        3,
    ]


def test_scores_and_hits_stay_as_they_are() -> None:
    hits = (guide(1, 0.81, 2023), guide(2, 0.80, 2025))
    found = NewerFirst(WIDTH)(hits, ASKED)
    assert found == RefinedHits((hits[1], hits[0]), ("newer first: id_2",))
    assert NewerFirst(WIDTH)((), ASKED) == RefinedHits(())


def test_what_readers_said_counts() -> None:
    liked = guide(1, 0.80, 2020)
    liked = replace(liked, parts={**liked.parts, "feedback": 0.1})
    assert order(guide(2, 0.81, 2025), liked) == [1, 2]


ROWS = st.lists(st.tuples(st.floats(0, 1), st.none() | st.integers(2015, 2026)), max_size=12)


@given(ROWS, st.randoms(use_true_random=False))
def test_a_proper_ordering(rows: list[tuple[float, int | None]], random: Random) -> None:
    hits = [guide(number, score, year) for number, (score, year) in enumerate(rows)]
    first = order(*hits)
    random.shuffle(hits)
    assert order(*hits) == first
    by_number = {h.chunk.number: h for h in hits}
    scores = [by_number[number].score for number in first]
    # Nothing passes what scores better by the width or more.
    assert all(later - earlier < WIDTH for i, earlier in enumerate(scores) for later in scores[i + 1 :])


ASKED = Question(text="?")
LAMBDA = ClockifySettings().mmr_lambda


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
