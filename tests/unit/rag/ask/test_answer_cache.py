"""rag.ask.answer_cache: which questions share a key, and which answers are kept."""

from collections.abc import Mapping
from dataclasses import replace
from unicodedata import normalize

import numpy as np
import pytest
from fakes import FakeClock, make_answer, make_hit
from fakes_stores import InMemoryAnswerCache
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit, View
from rag.adapters.stores.cache import LayeredCache
from rag.ask.answer_cache import RECENT_NEGATIVE_S, CacheSlot, question_key, thaw
from rag.values.answer import Answer, CheckedClaim, Citation, Context, Passage
from rag.values.chat import Completion
from rag.values.question import Question, SearchQuery
from rag.values.request import PreparedQuestion
from rag.values.stored import CacheHit


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is X?", "what is x"),
        ("  What   is\tX ?! ", "What is X."),
        ("What does the WHO do?", "what does the who do?"),
        ("\u4ec0\u4e48\u662f\u589e\u503c\u7a0e\uff1f", "\u4ec0\u4e48\u662f\u589e\u503c\u7a0e"),
    ],
)
def test_case_blanks_and_the_final_mark_do_not_count(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C++?", "What is C?"),
        ("Is it 10\u00b2?", "Is it 102?"),
        ("Is it -5?", "Is it 5?"),
        ("Is it 1.5?", "Is it 15?"),
        ("What is .NET?", "What is NET?"),
    ],
)
def test_every_other_sign_counts(one: str, other: str) -> None:
    assert question_key(one) != question_key(other)


@given(st.text(), st.sampled_from(["", "?", " ?", "...", "!"]))
def test_a_composed_and_a_decomposed_spelling_share_a_key_whatever_ends_them(text: str, end: str) -> None:
    asked = f"What is {text}x"
    assert question_key(normalize("NFD", f" {asked}{end}\n")) == question_key(normalize("NFC", asked))


@given(st.integers(), st.integers())
def test_different_numbers_are_different_questions(one: int, other: int) -> None:
    assert (question_key(f"rate {one}?") == question_key(f"Rate {other}.")) == (one == other)


HITS = (make_hit(number=1, cosine=0.8), make_hit(number=2, cosine=0.6))
QUESTION = Question(text="Which permit?", understood="Which permit?")
QUERY = SearchQuery(text="Which permit?", top_k=8)
CITATION = Citation(raw="[Import permits]", title="Import permits", section="", position=0, hit=HITS[0])
DONE = Completion(text="Five days [Import permits].", model="m", finish_reason="stop")
ANSWER = make_answer(text=DONE.text, question=QUESTION, citations=(CITATION,), chunks_retrieved=2, completion=DONE)
SEEN = Context("", tuple(Passage(hit=hit, citation="", text="") for hit in HITS))
DRAFT = PreparedQuestion(question=QUESTION, query=QUERY, key="k", version="v1", context=SEEN)


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
        version=lambda: "v1",
        bar=bar,
        recent_negative=negatives or Negatives(),
        embed=lambda _: np.ones(4, np.float32) / 2,
        now=clock,
    )


def key(query: SearchQuery = QUERY, question: Question = QUESTION, **scope: object) -> str:
    return slot(scope=scope or None).key(query, question)


# --- keys


@pytest.mark.parametrize(
    ("query", "question", "scope"),
    [
        (replace(QUERY, text="Which permits?"), QUESTION, {}),
        (replace(QUERY, top_k=9), QUESTION, {}),
        (replace(QUERY, where={"category": {"$eq": "a"}}), QUESTION, {}),
        (replace(QUERY, views=(View("the permits", 0.5),)), QUESTION, {}),
        (QUERY, replace(QUESTION, threshold=0.5), {}),
        (QUERY, QUESTION, {"profile": "gacounts", "model": "other"}),
    ],
)
def test_whatever_the_answer_depends_on_is_in_the_key(
    query: SearchQuery, question: Question, scope: dict[str, object]
) -> None:
    assert key(query, question, **scope) != key()


def test_a_filter_of_the_request_is_not_one_of_the_words() -> None:
    where = {"category": {"$eq": "a"}}
    assert key(replace(QUERY, where=where)) != key(replace(QUERY, views=(View(QUERY.text, 0.1, where),)))


def test_the_spelling_of_a_view_is_as_little_in_it_as_that_of_the_question() -> None:
    views = [(View(f"Fees? {text}", 0.6),) for text in (QUERY.text, QUERY.text.upper().rstrip("?") + " ?!")]
    assert key(replace(QUERY, views=views[0])) == key(replace(QUERY, views=views[1]))


@pytest.mark.parametrize("question", [replace(QUESTION, session_id="s" * 22), replace(QUESTION, text="which PERMIT??")])
def test_who_asks_and_the_raw_words_are_not_in_the_key(question: Question) -> None:
    assert key(question=question) == key()


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(key(replace(QUERY, text="\ud800"))) == 64


# --- what is kept


def kept(answer: Answer, hits: tuple[Hit, ...] = HITS, *, cache: CacheSlot | None = None) -> bool:
    cache = cache or slot()
    best = max(hit.parts["dense"] for hit in hits)
    stored = cache.keep(DRAFT, answer, hits[:1], top_score=best)
    assert (cache.get("k", QUERY) is not None) == stored
    return stored


def test_a_good_answer_is_kept_and_recalled_under_another_id() -> None:
    cache = slot()
    assert kept(ANSWER, cache=cache)
    hit = cache.get("k", QUERY)
    assert hit is not None
    asked = replace(QUESTION, session_id="t" * 22)
    answer = thaw(hit.answer, question=asked, response_id="r2", trail=("trail",))
    assert (answer.text, answer.response_id, answer.question) == (ANSWER.text, "r2", asked)
    assert (answer.cached, answer.trail, answer.routing) == (True, ("trail",), None)
    assert (answer.confidence, answer.refused, answer.chunks_retrieved) == (ANSWER.confidence, False, 2)


BORNE = CheckedClaim(text="Five days.", citations=("[Import permits]",), support="supported", chance=0.99)


@pytest.mark.parametrize(
    "answer",
    [
        replace(ANSWER, refused=True),
        replace(ANSWER, citations=()),
        replace(ANSWER, completion=None),
        replace(ANSWER, completion=replace(DONE, degraded=True)),
        replace(ANSWER, completion=replace(DONE, finish_reason="content_filter")),
        replace(ANSWER, statements=(BORNE, replace(BORNE, support="unsupported"))),
        replace(ANSWER, statements=(BORNE, replace(BORNE, citations=()))),
        replace(ANSWER, statements=(replace(BORNE, support="partial"),)),
    ],
)
def test_what_is_not_good_enough_is_not(answer: Answer) -> None:
    assert not kept(answer)


@pytest.mark.parametrize("statements", [(), (BORNE, replace(BORNE, support="partial"))])
def test_one_that_its_sources_bear_out_is(statements: tuple[CheckedClaim, ...]) -> None:
    assert kept(replace(ANSWER, statements=statements))


@pytest.mark.parametrize(("cosine", "expected"), [(0.749, False), (0.75, True)])
def test_the_best_cosine_must_reach_the_bar(cosine: float, expected: bool) -> None:
    assert kept(ANSWER, (make_hit(cosine=0.1), make_hit(cosine=cosine))) == expected


@pytest.mark.parametrize(
    ("age_s", "expected"), [(0.0, False), (RECENT_NEGATIVE_S, False), (RECENT_NEGATIVE_S + 1, True)]
)
def test_a_recent_vote_against_keeps_it_out(age_s: float, expected: bool) -> None:
    negatives = Negatives()
    negatives.at["k"] = 1e9 - age_s
    assert kept(ANSWER, cache=slot(negatives=negatives)) == expected


def test_a_vote_against_that_comes_while_it_is_stored_evicts_it() -> None:
    negatives = Negatives()

    class Meanwhile(InMemoryAnswerCache):
        def put(self, *args: object, **kwargs: object) -> None:
            negatives.at["k"] = 1e9
            self.evict("k")  # what the vote does: there is nothing yet
            super().put(*args, **kwargs)  # type: ignore[arg-type]

    cache = replace(
        slot(negatives=negatives), store=LayeredCache(Meanwhile(clock=FakeClock(1e9)), clock=FakeClock(1e9))
    )
    assert not kept(ANSWER, cache=cache)


def test_what_it_rests_on_is_kept_with_it() -> None:
    cache = slot()
    cache.keep(DRAFT, ANSWER, HITS[1:], top_score=0.8)
    hit = cache.get("k", QUERY)
    assert hit is not None
    assert hit.answer.chunk_ids == ("id_2",)


# --- a remote embedder works meanwhile


def test_the_question_is_embedded_ahead_before_the_shared_layer_is_asked() -> None:
    events: list[str] = []

    class Shared(InMemoryAnswerCache):
        def get(self, key: str) -> CacheHit | None:
            events.append("shared layer")
            return super().get(key)

    shared = Shared()
    cache = replace(slot(), store=LayeredCache(shared), embed_ahead=lambda text: events.append(text))
    assert cache.get(key(), QUERY) is None
    assert events == ["Which permit?", "shared layer"]


def test_what_this_process_has_needs_no_vector() -> None:
    ahead: list[str] = []
    cache = replace(slot(), embed_ahead=ahead.append)
    cache.keep(replace(DRAFT, key=key()), ANSWER, HITS, top_score=0.8)
    hit = cache.get(key(), QUERY)
    assert hit is not None
    assert hit.layer == "l1"
    assert ahead == []
