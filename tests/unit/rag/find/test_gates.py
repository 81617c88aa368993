"""rag.find.gate: do the hits support an answer?"""

from dataclasses import replace

import pytest
from fakes import make_evidence, make_hit

from knowledge.model.values import SearchResult
from rag.find.gate import Coverage, EvidenceGate, require_hit
from rag.values.answer import Decline, Proceed
from rag.values.question import Question

FAR = make_hit(number=1, title="Import permits", section="Fees", cosine=0.31)
FARTHER = make_hit(number=2, cosine=0.2)
NEAR = make_hit(number=3, cosine=0.55)


def decided(
    found: SearchResult, *, set_to: float | None = None, requested: float | None = None, doubts: bool = True
) -> Proceed | Decline:
    return EvidenceGate(set_to, doubts)(found, Question(text="q", threshold=requested))


@pytest.mark.parametrize(("score", "passes"), [(0.7, True), (0.69, False)])
def test_the_indexs_own_bar_decides_whatever_the_cosine(score: float, passes: bool) -> None:
    evidence = make_evidence(score, bar=0.7)
    assert isinstance(decided(SearchResult((FARTHER, FAR), evidence)), Proceed) is passes
    assert isinstance(decided(SearchResult((NEAR,), evidence)), Proceed) is passes


@pytest.mark.parametrize(("score", "proceeds", "doubtful"), [(0.7, True, False), (0.69, True, True), (0.2, True, True)])
def test_between_the_two_bars_it_proceeds_and_doubts(score: float, proceeds: bool, doubtful: bool) -> None:
    found = SearchResult((FAR,), replace(make_evidence(score, bar=0.7), doubt=0.2))
    decision = decided(found)
    assert isinstance(decision, Proceed) is proceeds
    assert bool(getattr(decision, "doubt", "")) is doubtful
    assert isinstance(decided(found, doubts=False), Decline) is doubtful
    assert isinstance(decided(found, requested=0.32), Decline)  # what a person set knows no doubt


def test_below_both_it_declines_and_a_doubt_says_what_was_needed() -> None:
    evidence = make_evidence(0.1, bar=0.7)
    assert isinstance(decided(SearchResult((FAR,), replace(evidence, doubt=0.2))), Decline)
    needed = "the closest was 'Import permits > Fees' (cosine 0.31; evidence 0.10, 0.70 needed)"
    found = SearchResult((FAR,), replace(evidence, doubt=0.1))
    assert decided(found) == Proceed((FAR,), 1, found.evidence, f"doubtful: {needed}")


@pytest.mark.parametrize("evidence", [None, make_evidence(9.0, bar=None)])
@pytest.mark.parametrize(("cosine", "passes"), [(0.4, True), (0.39, False)])
def test_a_cosine_of_40_decides_where_no_bar_was_measured(evidence: object, cosine: float, passes: bool) -> None:
    found = SearchResult((make_hit(cosine=cosine), FARTHER), evidence)  # type: ignore[arg-type]
    assert isinstance(decided(found), Proceed) is passes


@pytest.mark.parametrize(
    ("set_to", "requested", "passes"), [(0.31, None, True), (0.32, None, False), (0.9, 0.3, True), (-1, 0.5, False)]
)
def test_what_a_person_set_wins_over_the_bar_and_the_request_over_all(
    set_to: float, requested: float | None, passes: bool
) -> None:
    evidence = make_evidence(0.0 if passes else 9.0, bar=5.0)
    assert (
        isinstance(decided(SearchResult((FARTHER, FAR), evidence), set_to=set_to, requested=requested), Proceed)
        is passes
    )


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


GATE = EvidenceGate()
FOREIGN = Question(text="Wie viele Tage?")


def found(score: float, *, foreign: bool, language: str = "English") -> SearchResult:
    evidence = replace(make_evidence(score, bar=0.3), foreign=foreign, language=language)
    return SearchResult((make_hit("An import permit takes five days."),), evidence)


@pytest.mark.parametrize(
    ("language", "reply"),
    [
        ("English", "The documents are in English, and your question is not. Please ask in English."),
        ("", "The question is in another language than the documents. Please ask in theirs."),
    ],
)
def test_a_decline_tells_the_documents_language(language: str, reply: str) -> None:
    decision = GATE(found(0.1, foreign=True, language=language), FOREIGN)
    assert isinstance(decision, Decline)
    assert decision.reply == reply
    assert "needed" in decision.reason


def test_what_is_answered_or_in_the_same_language_is_as_the_gate_says() -> None:
    assert isinstance(GATE(found(0.9, foreign=True), FOREIGN), Proceed)
    decision = GATE(found(0.1, foreign=False), FOREIGN)
    assert isinstance(decision, Decline)
    assert decision.reply == ""


ASKED = Question(text="Which permit?")


def test_one_hit_is_enough_for_one() -> None:
    hits = (make_hit(),)
    assert require_hit(SearchResult(hits), ASKED) == Proceed(hits, len(hits))


def test_no_hit_is_a_decline_with_its_reason() -> None:
    assert require_hit(SearchResult(()), ASKED) == Decline("0 chunks passed the threshold, 1 needed")


@pytest.mark.parametrize(
    ("top_k", "cosines", "reason"),
    [
        (None, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (None, (0.5, 0.3), None),
        (50, (0.5,), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (1, (0.5,), None),
        (1, (0.3,), None),
        (1, (0.2,), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (1, (), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
    ],
)
def test_coverage_needs_no_more_chunks_than_were_asked_for(
    top_k: int | None, cosines: tuple[float, ...], reason: str | None
) -> None:
    hits = tuple(make_hit(cosine=cosine) for cosine in cosines)
    decision = Coverage(2, 0.25)(SearchResult(hits), Question(text="Which permit?", top_k=top_k))
    assert decision == (Proceed(hits, len(hits)) if reason is None else Decline(reason))


@pytest.mark.parametrize(
    ("threshold", "cosines", "reason"),
    [
        (None, (0.5,), None),
        (None, (0.5, 0.3), None),
        (None, (0.5, 0.2), "1 chunk covers the question (cosine >= 0.25), 2 needed"),
        (None, (0.5, 0.3, 0.2), "2 chunks cover the question (cosine >= 0.25), 3 needed"),
        (None, (0.3,), None),
        (None, (0.2,), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (None, (), "0 chunks cover the question (cosine >= 0.25), 1 needed"),
        (0.25, (0.3,), None),
        (0.35, (0.3,), "0 chunks cover the question (cosine >= 0.35), 1 needed"),
    ],
)
def test_coverage_needs_no_more_chunks_than_the_requests_filters_leave(
    threshold: float | None, cosines: tuple[float, ...], reason: str | None
) -> None:
    hits = tuple(make_hit(cosine=cosine) for cosine in cosines)
    filtered = Question(text="Which permit?", threshold=threshold, filters={"category": "permits"})
    decision = Coverage(3, 0.25)(SearchResult(hits), filtered)
    assert decision == (Proceed(hits, len(hits)) if reason is None else Decline(reason))
    if len(hits) < 3:
        assert isinstance(Coverage(3, 0.25)(SearchResult(hits), replace(filtered, filters={})), Decline)
