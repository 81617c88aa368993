"""rag.find.refine.newer_first: newer first among equals, as a proper ordering."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from random import Random

from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.find.refine.newer_first import NewerFirst
from rag.values.answer import RefinedHits
from rag.values.question import Question

QUESTION = Question(text="q")
WIDTH = 0.02


def hit(number: int, score: float, year: int | None) -> Hit:
    return replace(make_hit(number=number, dated=(year or 0) * 10_000, cosine=0.5), score=score)


def order(*hits: Hit) -> list[int]:
    return [found.chunk.number for found in NewerFirst(WIDTH)(hits, QUESTION).hits]


def test_the_newer_of_two_that_score_alike_comes_first() -> None:
    assert order(hit(1, 0.81, 2023), hit(2, 0.80, 2025)) == [2, 1]
    assert order(hit(1, 0.83, 2023), hit(2, 0.80, 2025)) == [1, 2]


def test_of_two_that_score_alike_the_one_of_the_year_that_is_asked_for_comes_first() -> None:
    titled = replace(hit(1, 0.80, 2025), chunk=replace(hit(1, 0.80, 2025).chunk, title="Policy 2023"))
    found = NewerFirst(WIDTH)((hit(2, 0.81, 2024), titled), Question(text="The rates of 2023?"))
    assert found.hits[0] is titled
    assert found.trail == ("of 2023, then newer first: id_1",)
    dated = NewerFirst(WIDTH)((hit(2, 0.81, 2024), hit(3, 0.80, 2023)), Question(text="The rates of 2023?"))
    assert [h.chunk.number for h in dated.hits] == [3, 2]


def test_where_pairs_are_alike_in_a_chain_the_top_decides() -> None:
    # .80 ~ .79 ~ .775 but not .80 ~ .775: the seed's comparator has no answer here.
    hits = (hit(1, 0.80, 2021), hit(2, 0.79, 2022), hit(3, 0.775, 2023), hit(4, 0.765, 2024))
    for shuffled in permutations(hits):
        assert order(*shuffled) == [2, 1, 4, 3]


def test_the_undated_come_last_and_the_better_score_breaks_ties() -> None:
    assert order(hit(1, 0.805, None), hit(2, 0.80, 2020), hit(3, 0.80, None), hit(4, 0.801, 2020)) == [4, 2, 1, 3]


def test_scores_and_hits_stay_as_they_are() -> None:
    hits = (hit(1, 0.81, 2023), hit(2, 0.80, 2025))
    found = NewerFirst(WIDTH)(hits, QUESTION)
    assert found == RefinedHits((hits[1], hits[0]), ("newer first: id_2",))
    assert NewerFirst(WIDTH)((), QUESTION) == RefinedHits(())


def test_what_readers_said_counts() -> None:
    liked = hit(1, 0.80, 2020)
    liked = replace(liked, parts={**liked.parts, "feedback": 0.1})
    assert order(hit(2, 0.81, 2025), liked) == [1, 2]


ROWS = st.lists(st.tuples(st.floats(0, 1), st.none() | st.integers(2015, 2026)), max_size=12)


@given(ROWS, st.randoms(use_true_random=False))
def test_a_proper_ordering(rows: list[tuple[float, int | None]], random: Random) -> None:
    hits = [hit(number, score, year) for number, (score, year) in enumerate(rows)]
    first = order(*hits)
    random.shuffle(hits)
    assert order(*hits) == first
    by_number = {h.chunk.number: h for h in hits}
    scores = [by_number[number].score for number in first]
    # Nothing passes what scores better by the width or more.
    assert all(later - earlier < WIDTH for i, earlier in enumerate(scores) for later in scores[i + 1 :])
