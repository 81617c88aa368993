"""rag.stages.answer_cache: which questions share a key, and which answers are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from fakes import FakeClock, make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.adapters.layered_cache import LayeredCache
from rag.adapters.memory_stores import InMemoryAnswerCache
from rag.records import CacheHit
from rag.stages.answer_cache import RECENT_NEGATIVE_S, CacheSlot, normalise
from rag.types import Answer, Citation, Completion, Confidence, Hit, Question, Routing, SearchQuery

HITS = (make_hit(number=1, cosine=0.8), make_hit(number=2, cosine=0.6))
QUESTION = Question(text="Which permit?", resolved="Which permit?")
QUERY = SearchQuery(text="Which permit?", top_k=8)
CITATION = Citation(raw="[Import permits]", title="Import permits", section="", position=0, hit=HITS[0])
ANSWER = Answer(
    text="Five days [Import permits].",
    question=QUESTION,
    profile="gacounts",
    response_id="r1",
    confidence=Confidence("High", 90.0, "good"),
    refused=False,
    citations=(CITATION,),
    chunks_retrieved=2,
    completion=Completion(text="Five days [Import permits].", model="m", finish_reason="stop"),
)


class Negatives:
    """Votes against answers: by key, when."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}

    def __call__(self, key: str, since: float) -> bool:
        return self.at.get(key, -1.0) >= since


def slot(
    *,
    bar: float = 0.75,
    scope: Mapping[str, object] | None = None,
    negatives: Negatives | None = None,
    now: float = 1e9,
) -> CacheSlot:
    clock = FakeClock(now)
    return CacheSlot(
        store=LayeredCache(InMemoryAnswerCache(clock=clock), clock=clock),
        scope=lambda: scope or {"profile": "gacounts"},
        bar=bar,
        recent_negative=negatives or Negatives(),
        embed=lambda _: np.ones(4, np.float32) / 2,
        now=clock,
    )


def key(query: SearchQuery = QUERY, question: Question = QUESTION, **scope: object) -> str:
    return slot(scope=scope or None).key(query, question)


# --- keys


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is VAT?", "what is vat"),
        ("  What   is\tVAT ?", "What is VAT"),
        ("\uff37hat is VAT?", "What is VAT?"),
        ("Caf\u00e9 hours", "Cafe\u0301 hours"),
        ("\u201cBrand\u201d colors", '"brand" colors'),
        ("STRASSE", "stra\u00dfe"),
        ("self-service", "self\u2010service"),
    ],
)
def test_spelling_is_normalised_away(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GST is 9%", "GST is 19%"),
        ("is it 9", "is it 9%"),
        ("is it 1.5", "is it 15"),
        ("is it 1.5", "is it 1 5"),
        ("is it 1,5", "is it 1.5"),
        ("is it 10\u00b2", "is it 102"),
        ("is it 10\u00bd", "is it 101 2"),
        ("is it -5", "is it 5"),
        ("is it \u22125", "is it 5"),
        ("is it \u20135", "is it 5"),
        ("5-7 days", "57 days"),
        ("5-7 days", "5 7 days"),
        ("a >= 3", "a <= 3"),
        ("a \u2265 3", "a \u2264 3"),
        ("a != 3", "a = 3"),
        ("a \u2260 3", "a 3"),
        ("\u20ac5", "$5"),
        ("6' high", '6" high'),
        ("C++", "C"),
        ("C#", "C"),
        ("it is covered", "it is not covered"),
        ("it can be done", "it can't be done"),
        ("4\u2030", "4"),
        ("\u0915\u0940", "\u0915\u093e"),  # two Hindi words that differ by their vowel sign
    ],
)
def test_what_carries_meaning_is_not(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
def test_normalising_twice_is_normalising_once_at_the_edges(text: str) -> None:
    plain = normalise(text)
    assert plain == plain.strip()
    assert "  " not in plain
    assert normalise(f"  {text} ") == plain or text[:1] in "-'\""


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_different_numbers_are_different_questions(one: int, other: int) -> None:
    assert (normalise(f"rate {one}?") == normalise(f"rate {other}!")) == (one == other)


@pytest.mark.parametrize(
    ("query", "question", "scope"),
    [
        (replace(QUERY, text="Which permits?"), QUESTION, {}),
        (replace(QUERY, top_k=9), QUESTION, {}),
        (replace(QUERY, where={"category": {"$eq": "a"}}), QUESTION, {}),
        (replace(QUERY, detected={"category": {"$eq": "a"}}), QUESTION, {}),
        (QUERY, replace(QUESTION, threshold=0.5), {}),
        (QUERY, QUESTION, {"profile": "gacounts", "index": "v2"}),
    ],
)
def test_whatever_the_answer_depends_on_is_in_the_key(
    query: SearchQuery, question: Question, scope: dict[str, object]
) -> None:
    assert key(query, question, **scope) != key()


def test_a_filter_of_the_request_is_not_one_of_the_words() -> None:
    where = {"category": {"$eq": "a"}}
    assert key(replace(QUERY, where=where)) != key(replace(QUERY, detected=where))


@pytest.mark.parametrize("question", [replace(QUESTION, session_id="s" * 22), replace(QUESTION, text="which PERMIT??")])
def test_who_asks_and_the_raw_words_are_not_in_the_key(question: Question) -> None:
    assert key(question=question) == key()


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(key(replace(QUERY, text="\ud800"))) == 64


# --- what is kept


def kept(answer: Answer, hits: tuple[Hit, ...] = HITS, *, cache: CacheSlot | None = None) -> bool:
    cache = cache or slot()
    stored = cache.keep("k", QUERY, answer, hits)
    assert (cache.get("k", QUERY, QUESTION) is not None) == stored
    return stored


def test_a_good_answer_is_kept_and_recalled_under_another_id() -> None:
    cache = slot()
    assert kept(ANSWER, cache=cache)
    hit = cache.get("k", QUERY, QUESTION)
    assert hit is not None
    routing = Routing("return", "fine")
    asked = replace(QUESTION, session_id="t" * 22)
    answer = cache.recall(hit, asked, "gacounts", "r2", ("trail",), lambda confidence, refused: routing)
    assert (answer.text, answer.response_id, answer.question) == (ANSWER.text, "r2", asked)
    assert (answer.cached, answer.trail, answer.routing) == (True, ("trail",), routing)
    assert (answer.confidence, answer.refused, answer.chunks_retrieved) == (ANSWER.confidence, False, 2)


DONE = ANSWER.completion or Completion(text="", model="")


@pytest.mark.parametrize(
    "answer",
    [
        replace(ANSWER, refused=True),
        replace(ANSWER, citations=()),
        replace(ANSWER, completion=None),
        replace(ANSWER, completion=replace(DONE, degraded=True)),
        replace(ANSWER, completion=replace(DONE, finish_reason="length")),
        replace(ANSWER, completion=replace(DONE, finish_reason="content_filter")),
    ],
)
def test_what_is_not_good_enough_is_not(answer: Answer) -> None:
    assert not kept(answer)


def test_an_engine_without_a_finish_reason_is_good_enough() -> None:
    assert kept(replace(ANSWER, completion=replace(DONE, finish_reason=None)))


@pytest.mark.parametrize(("cosine", "expected"), [(0.749, False), (0.75, True), (0.9, True)])
def test_the_best_cosine_must_reach_the_bar(cosine: float, expected: bool) -> None:
    assert kept(ANSWER, (make_hit(cosine=0.1), make_hit(cosine=cosine))) == expected


def test_a_score_that_feedback_raised_does_not_count() -> None:
    assert not kept(ANSWER, (replace(make_hit(cosine=0.7), score=0.8),))


@pytest.mark.parametrize(
    ("age_s", "expected"), [(0.0, False), (RECENT_NEGATIVE_S, False), (RECENT_NEGATIVE_S + 1, True)]
)
def test_a_recent_vote_against_keeps_it_out(age_s: float, expected: bool) -> None:
    negatives = Negatives()
    negatives.at["k"] = 1e9 - age_s
    assert kept(ANSWER, cache=slot(negatives=negatives)) == expected


# --- a remote embedder works meanwhile


def test_the_question_is_embedded_ahead_before_the_shared_layer_is_asked() -> None:
    events: list[str] = []

    class Shared(InMemoryAnswerCache):
        def get(self, key: str) -> CacheHit | None:
            events.append("shared layer")
            return super().get(key)

    shared = Shared()
    cache = replace(slot(), store=LayeredCache(shared), embed_ahead=lambda text: events.append(text))
    assert cache.get(key(), QUERY, QUESTION) is None
    assert events == ["Which permit?", "shared layer"]


def test_what_this_process_has_needs_no_vector() -> None:
    ahead: list[str] = []
    cache = replace(slot(), embed_ahead=ahead.append)
    cache.keep(key(), QUERY, ANSWER, HITS)
    hit = cache.get(key(), QUERY, QUESTION)
    assert hit is not None
    assert hit.layer == "l1"
    assert ahead == []
