"""rag.ask.answer_cache: which answers are stored, under which key, and what comes back."""

from collections.abc import Mapping
from dataclasses import replace
from unicodedata import normalize

import numpy as np
import pytest
from fakes import FakeClock, make_answer, make_hit
from fakes_stores import InMemoryAnswerCache
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit, Match, View
from rag.adapters.stores.cache import LayeredCache
from rag.adapters.stores.layout import decode, encode_answer
from rag.ask.answer_cache import RECENT_NEGATIVE_S, CacheSlot, freeze, question_key, thaw
from rag.http.replies import query_reply, question_reply
from rag.values.answer import Answer, CheckedClaim, Citation, Confidence, Context, Passage, RelatedDoc, Source
from rag.values.chat import Completion, Usage
from rag.values.question import Question, SearchQuery
from rag.values.request import PreparedQuestion
from rag.values.stored import CachedAnswer, CacheHit


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


GROUNDS = (
    make_hit(number=7, cosine=0.8, url="https://a.example", section="Fees", category="abo", source_org="ABO"),
    make_hit("Other.", number=9, cosine=0.6, doc_id="other", title="Other \U0001f600"),
)
# What a citation rests on and what no store keeps.
MATCH = Match(similarities=np.ones((1, 3), np.float32), units=np.zeros((1, 9), np.uint16), title_tokens=1)
CITING = Answer(
    text="Five days.\n(Source: https://a.example)",
    question=Question(text="Which permit?", session_id="s" * 22, understood="Which permit?"),
    profile="gacounts",
    response_id="r1",
    confidence=Confidence("High", 81.25, "best match 80%, 1 source cited"),
    refused=False,
    citations=(
        Citation(
            raw="(Source: https://a.example)",
            title="Import permits",
            section="Fees",
            position=11,
            hit=replace(GROUNDS[0], score=0.9, match=MATCH),
            source_urls=("https://a.example", "https://b.example"),
            chunk_id="id_7",
            support="partial",
        ),
    ),
    statements=(
        CheckedClaim(text="Five days.", citations=("(Source: https://a.example)",), support="partial", chance=0.61),
    ),
    sources=(Source(title="Permits", org="ABO", url="https://a.example", section="Fees"),),
    related_docs=(RelatedDoc(title="Other", category="abo", doc_id="other", url=""),),
    chunks_retrieved=2,
    completion=Completion(
        text="Five days.",
        model="m",
        finish_reason="stop",
        usage=Usage(prompt_tokens=9, completion_tokens=4, total_tokens=13),
    ),
)
OF_ONE_REQUEST = {"responseId", "sessionId", "metadata"}


def frozen(answer: Answer) -> CachedAnswer:
    return freeze(answer, rests_on=GROUNDS[:1], vector=b"\x01\xff")


def round_trip(answer: Answer) -> Answer:
    """Through JSON, as every store keeps it."""
    body = encode_answer(frozen(answer))
    assert body is not None
    kept = decode(CachedAnswer, body)
    assert kept is not None
    return thaw(kept, question=answer.question, response_id="r2", trail=("from the cache",))


def test_the_reply_is_the_same_but_for_ids_and_metadata() -> None:
    before, after = (query_reply(answer).model_dump(mode="json") for answer in (CITING, round_trip(CITING)))
    assert {name: after[name] for name in after if name not in OF_ONE_REQUEST} == {
        name: before[name] for name in before if name not in OF_ONE_REQUEST
    }
    assert after["responseId"] == "r2"
    for name in ("query", "profile", "chunksRetrieved", "chunksUsed", "model", "finishReason"):
        assert after["metadata"][name] == before["metadata"][name], name


def test_what_the_check_found_comes_back() -> None:
    after = round_trip(CITING)
    assert after.statements == CITING.statements
    assert [citation.support for citation in after.citations] == ["partial"]


def test_all_the_chunks_that_a_citation_stands_for_are_told_again() -> None:
    (citation,) = CITING.citations
    answer = replace(CITING, citations=(replace(citation, also=GROUNDS[1:]),))
    before, after = (question_reply(this, debug=False) for this in (answer, round_trip(answer)))
    assert before.sources == after.sources == ["id_7", "id_9"]


def test_nobody_wrote_it_anew() -> None:
    after = round_trip(CITING)
    assert after.completion is not None
    assert (after.completion.calls, after.completion.usage, after.cached) == (0, None, True)
    assert after.trail == ("from the cache",)


def test_what_is_kept_beside_the_reply() -> None:
    kept = frozen(CITING)
    assert (kept.chunk_ids, kept.vector) == (("id_7",), b"\x01\xff")


def test_nothing_of_the_session_is_kept() -> None:
    body = encode_answer(frozen(CITING))
    assert body is not None
    for private in ("s" * 22, "r1", "Which permit?"):
        assert private not in body


@pytest.mark.parametrize("text", ["\u0000", "\U0001f600 \u202e"])
def test_any_text_survives(text: str) -> None:
    assert round_trip(replace(CITING, text=text)).text == text
