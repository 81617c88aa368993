"""rag.find.gate: do the hits support an answer?"""

from dataclasses import replace
from typing import Any

import pytest
from fakes import make_evidence, make_hit

from knowledge.model.values import Evidence, Hit, SearchResult
from rag.find.gate import Coverage, EvidenceGate, TopScore, require_hit
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

FAR = make_hit(number=1, title="Import permits", section="Fees", cosine=0.31)
FARTHER = make_hit(number=2, cosine=0.2)
NEAR = make_hit(number=3, cosine=0.55)


def decided(
    found: SearchResult, *, set_to: float | None = None, requested: float | None = None, doubts: bool = True
) -> Proceed | Decline:
    return EvidenceGate(set_to, doubts)(found, Question(text="q", threshold=requested))


def proceeds(found: SearchResult, **how: Any) -> bool:
    return isinstance(decided(found, **how), Proceed)


@pytest.mark.parametrize("hit", [FAR, NEAR], ids=["far", "near"])
@pytest.mark.parametrize(("score", "passes"), [(0.7, True), (0.69, False)])
def test_the_indexs_own_bar_decides_whatever_the_cosine(score: float, passes: bool, hit: Hit) -> None:
    assert proceeds(SearchResult((FARTHER, hit), make_evidence(score, bar=0.7))) is passes


@pytest.mark.parametrize(("score", "doubtful"), [(0.7, False), (0.69, True), (0.2, True)])
def test_between_the_two_bars_it_proceeds_and_doubts(score: float, doubtful: bool) -> None:
    found = SearchResult((FAR,), replace(make_evidence(score, bar=0.7), doubt=0.2))
    decision = decided(found)
    assert isinstance(decision, Proceed)
    assert bool(decision.doubt) is doubtful
    assert proceeds(found, doubts=False) is not doubtful
    assert not proceeds(found, requested=0.32)  # what a person set knows no doubt


def test_below_both_it_declines_and_a_doubt_says_what_was_needed() -> None:
    evidence = make_evidence(0.1, bar=0.7)
    assert not proceeds(SearchResult((FAR,), replace(evidence, doubt=0.2)))
    needed = "the closest was 'Import permits > Fees' (cosine 0.31; evidence 0.10, 0.70 needed)"
    found = SearchResult((FAR,), replace(evidence, doubt=0.1))
    assert decided(found) == Proceed((FAR,), 1, found.evidence, f"doubtful: {needed}")


@pytest.mark.parametrize("evidence", [None, make_evidence(9.0, bar=None)])
@pytest.mark.parametrize(("cosine", "passes"), [(0.4, True), (0.39, False)])
def test_a_cosine_of_40_decides_where_no_bar_was_measured(
    evidence: Evidence | None, cosine: float, passes: bool
) -> None:
    assert proceeds(SearchResult((make_hit(cosine=cosine), FARTHER), evidence)) is passes


@pytest.mark.parametrize(
    ("set_to", "requested", "passes"), [(0.31, None, True), (0.32, None, False), (0.9, 0.3, True), (-1, 0.5, False)]
)
def test_what_a_person_set_wins_over_the_bar_and_the_request_over_all(
    set_to: float, requested: float | None, passes: bool
) -> None:
    found = SearchResult((FARTHER, FAR), make_evidence(0.0 if passes else 9.0, bar=5.0))
    assert proceeds(found, set_to=set_to, requested=requested) is passes


@pytest.mark.parametrize(("set_to", "passed"), [(0.2, 3), (0.5, 1), (None, 1)])
def test_those_that_reach_the_threshold_are_counted_and_all_go_on(set_to: float | None, passed: int) -> None:
    found = SearchResult((FAR, NEAR, FARTHER))
    assert decided(found, set_to=set_to) == Proceed(found.hits, passed)


def test_a_decline_says_what_came_closest() -> None:
    found = SearchResult((FARTHER, FAR))
    closest = "the closest was 'Import permits > Fees' (cosine 0.31"
    assert decided(found) == Decline(f"{closest}, 0.4 needed)")
    assert decided(found, requested=0.5) == Decline(f"{closest}, 0.5 needed)")
    measured = SearchResult(found.hits, make_evidence(-0.25, bar=0.5))
    assert decided(measured) == Decline(f"{closest}; evidence -0.25, 0.50 needed)")
    assert decided(SearchResult(())) == Decline("nothing was found")


IN_ENGLISH = "The documents are in English, and your question is not. Please ask in English."


@pytest.mark.parametrize(
    ("score", "foreign", "language", "reply"),
    [
        (0.1, True, "English", IN_ENGLISH),
        (0.1, True, "", "The question is in another language than the documents. Please ask in theirs."),
        (0.1, False, "English", ""),
        (0.2, True, "English", IN_ENGLISH),
        (0.2, False, "English", None),
        (0.9, True, "English", None),
    ],
    ids=["declined", "unknown language", "same language", "doubtful", "doubtful in the same", "answered"],
)
def test_a_decline_tells_the_documents_language_where_the_question_has_another(
    score: float, foreign: bool, language: str, reply: str | None
) -> None:
    evidence = replace(make_evidence(score, bar=0.3), doubt=0.2, foreign=foreign, language=language)
    decision = decided(SearchResult((FAR,), evidence))
    assert isinstance(decision, Proceed) is (reply is None)
    if isinstance(decision, Decline):
        assert decision.reply == reply
        assert "needed" in decision.reason


def test_one_hit_is_enough_for_one_and_the_best_cosine_for_another_whose_bar_a_request_may_set() -> None:
    found, nothing, asked, gate = SearchResult((FAR, NEAR)), SearchResult(()), Question(text="q"), TopScore(0.55)
    assert require_hit(SearchResult((FAR,)), asked) == Proceed((FAR,), 1)
    assert require_hit(nothing, asked) == Decline("0 chunks passed the threshold, 1 needed")
    assert (gate(found, asked), gate(nothing, asked)) == (Proceed(found.hits, 1), Decline("nothing was found"))
    assert gate(found, replace(asked, threshold=0.3)) == Proceed(found.hits, 2)
    assert gate(found, replace(asked, threshold=0.6)) == Decline("the best chunk's cosine is 0.55, 0.6 needed")


FILTERS = {"category": "permits"}


@pytest.mark.parametrize(
    ("count", "asked", "cosines", "reason"),
    [
        # No more chunks are needed than were asked for
        (2, {}, (0.5, 0.25), None),
        (2, {}, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (2, {"top_k": 50}, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (2, {"top_k": 1}, (0.3,), None),
        (2, {"top_k": 1}, (0.2,), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        # ... nor than the request's filters leave
        (3, {"filters": FILTERS}, (0.5, 0.3), None),
        (3, {"filters": FILTERS}, (0.5, 0.2), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (3, {"filters": FILTERS}, (0.5, 0.3, 0.2), "2 chunks cover the question (cosine >= 0.25), 3 needed"),
        (3, {"filters": FILTERS}, (), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (1, {"threshold": 0.35}, (0.3,), "0 chunks cover the question (cosine >= 0.35), 1 needed"),
    ],
)
def test_coverage_needs_so_many_chunks(
    count: int, asked: dict[str, Any], cosines: tuple[float, ...], reason: str | None
) -> None:
    hits = tuple(make_hit(cosine=cosine) for cosine in cosines)
    decision = Coverage(count, 0.25)(SearchResult(hits), Question(text="Which permit?", **asked))
    assert decision == (Proceed(hits, len(hits)) if reason is None else Decline(reason))
