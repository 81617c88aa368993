"""rag.ask.answer_cache: which answers are stored, under which key, and what comes back."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from fakes import FakeClock, make_answer, make_hit, make_ledger
from fakes_stores import InMemoryAnswerCache
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit, Match, View
from rag.adapters.stores.cache import LayeredCache
from rag.adapters.stores.layout import decode, encode_answer
from rag.ask.answer_cache import CacheSlot, freeze, question_key, thaw
from rag.values.answer import (
    Answer,
    CheckedClaim,
    Citation,
    Confidence,
    Context,
    Passage,
    Reference,
    RelatedDoc,
    Routing,
    Source,
)
from rag.values.chat import Completion, LlmUse, Usage
from rag.values.question import Question, SearchQuery
from rag.values.request import PreparedQuestion
from rag.values.stored import DAY_S, CachedAnswer, CacheHit


@pytest.mark.parametrize(
    ("one", "other"), [("  What   IS\tX ?! ", "what is x."), ("\u4ec0\u4e48\uff1f", "\u4ec0\u4e48")]
)
def test_case_blanks_and_the_final_mark_do_not_count(one: str, other: str) -> None:
    assert question_key(one) == question_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C++?", "C?"), ("10\u00b2?", "102?"), ("-5?", "5?"), ("1.5?", "15?"), (".NET?", "NET?")]
)
def test_every_other_sign_counts(one: str, other: str) -> None:
    assert question_key(f"What is {one}") != question_key(f"What is {other}")


@given(st.text(), st.sampled_from(["", "?", " ?", "...", "!"]))
def test_a_composed_and_a_decomposed_spelling_share_a_key_whatever_ends_them(text: str, end: str) -> None:
    asked = f"What is {text}x"
    assert question_key(normalize("NFD", f" {asked}{end}\n")) == question_key(normalize("NFC", asked))


HITS = (make_hit(number=1, cosine=0.8), make_hit(number=2, cosine=0.6))
QUESTION = Question(text="Which permit?", understood="Which permit?")
QUERY = SearchQuery(text="Which permit?", top_k=8)
CITATION = Citation(raw="[Import permits]", title="Import permits", section="", position=0, hit=HITS[0])
DONE = Completion(text="Five days [Import permits].", model="m", finish_reason="stop")
ANSWER = make_answer(text=DONE.text, question=QUESTION, citations=(CITATION,), chunks_retrieved=2, completion=DONE)


def context(hits: tuple[Hit, ...]) -> Context:
    return Context("", tuple(Passage(hit=hit, citation="", text="") for hit in hits))


DRAFT = PreparedQuestion(question=QUESTION, query=QUERY, key="k", version="v1", context=context(HITS))


def slot(
    *, bar: float = 0.75, scope: Mapping[str, object] | None = None, votes: Mapping[str, float] | None = None
) -> CacheSlot:
    """A cache at 1e9 seconds; ``votes`` are those against answers: by key, when."""
    clock = FakeClock(1e9)
    return CacheSlot(
        store=LayeredCache(InMemoryAnswerCache(clock=clock), clock=clock),
        scope=lambda: scope or {"profile": "gacounts"},
        version=lambda: "v1",
        bar=bar,
        recent_negative=lambda key, since: (votes or {}).get(key, -1.0) >= since,
        embed=lambda _: np.ones(4, np.float32) / 2,
        now=clock,
    )


def key(query: SearchQuery = QUERY, question: Question = QUESTION, scope: Mapping[str, object] | None = None) -> str:
    return slot(scope=scope).key(query, question)


WHERE = {"category": {"$eq": "a"}}
ASKED: dict[str, tuple[SearchQuery, Question, Mapping[str, object]]] = {
    "as it is": (QUERY, QUESTION, {}),
    "other words": (replace(QUERY, text="Which permits?"), QUESTION, {}),
    "more chunks": (replace(QUERY, top_k=9), QUESTION, {}),
    "a filter": (replace(QUERY, where=WHERE), QUESTION, {}),
    "a view": (replace(QUERY, views=(View("the permits", 0.5),)), QUESTION, {}),
    "a view of another weight": (replace(QUERY, views=(View("the permits", 0.6),)), QUESTION, {}),
    "a view within a filter": (replace(QUERY, views=(View("the permits", 0.5, WHERE),)), QUESTION, {}),
    "a threshold": (QUERY, replace(QUESTION, threshold=0.5), {}),
    "a wording": (QUERY, replace(QUESTION, wording="in verse"), {}),
    "another wording": (QUERY, replace(QUESTION, wording="in prose"), {}),
    "another model": (QUERY, QUESTION, {"profile": "gacounts", "model": "other"}),
}


@pytest.mark.parametrize("name", ASKED)
def test_whatever_the_answer_depends_on_is_in_the_key(name: str) -> None:
    assert [other for other in ASKED if key(*ASKED[other]) == key(*ASKED[name])] == [name]


VIEWED = replace(QUERY, views=(View(f"Fees? {QUERY.text}", 0.6),))
RESPELT = replace(QUERY, views=(View("fees?  WHICH permit ?!", 0.6),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((QUERY, QUESTION), (QUERY, replace(QUESTION, session_id="s" * 22))),
        ((QUERY, QUESTION), (QUERY, replace(QUESTION, text="which PERMIT??"))),
        ((VIEWED, QUESTION), (RESPELT, QUESTION)),
        ((QUERY, QUESTION, {"a": 1, "b": "\ud800"}), (QUERY, QUESTION, {"b": "\ud800", "a": 1})),
    ],
    ids=["session", "raw words", "a view's spelling", "order of names"],
)
def test_who_asks_and_the_raw_words_are_not_in_the_key(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert key(*one) == key(*other)


def kept(answer: Answer, cosine: float = 0.8, *, cache: CacheSlot | None = None) -> bool:
    cache = cache or slot()
    stored = cache.keep(DRAFT, answer, HITS[:1], top_score=cosine)
    hit = cache.get("k", QUERY)
    assert (hit is not None) == stored
    if hit:
        assert (hit.answer.answer.text, hit.answer.chunk_ids, len(hit.answer.vector)) == (answer.text, ("id_1",), 4)
    return stored


BORNE = CheckedClaim(text="Five days.", citations=("[Import permits]",), support="supported", chance=0.99)


@pytest.mark.parametrize(
    ("cosine", "fields", "good"),
    [
        (0.75, {}, True),
        (0.749, {}, False),
        (0.1, {"confidence": Confidence("Medium", 60.0, "", raw=60.0)}, True),  # of a likely answer
        (0.8, {"confidence": Confidence("Low", 30.0, "", raw=30.0)}, False),
        (0.8, {"refused": True}, False),
        (0.8, {"citations": ()}, False),
        (0.8, {"completion": None}, False),
        (0.8, {"completion": replace(DONE, degraded=True)}, False),
        (0.8, {"completion": replace(DONE, finish_reason=None)}, True),
        (0.8, {"completion": replace(DONE, finish_reason="content_filter")}, False),
        (0.8, {"statements": (BORNE, replace(BORNE, support="partial"))}, True),
        (0.8, {"statements": (BORNE, replace(BORNE, support="unsupported"))}, False),
        (0.8, {"statements": (BORNE, replace(BORNE, citations=()))}, False),
        (0.8, {"statements": (replace(BORNE, support="partial"),)}, False),
    ],
)
def test_what_is_good_enough_is_kept_and_nothing_else(cosine: float, fields: dict[str, Any], good: bool) -> None:
    assert kept(replace(ANSWER, **fields), cosine) is good


@pytest.mark.parametrize(("age_s", "expected"), [(30 * DAY_S, False), (30 * DAY_S + 1, True)])
def test_a_recent_vote_against_keeps_it_out(age_s: float, expected: bool) -> None:
    assert kept(ANSWER, cache=slot(votes={"k": 1e9 - age_s})) == expected


def test_a_vote_against_that_comes_while_it_is_stored_evicts_it() -> None:
    votes: dict[str, float] = {}

    class Meanwhile(InMemoryAnswerCache):
        def put(self, *args: object, **kwargs: object) -> None:
            votes["k"] = 1e9
            self.evict("k")  # what the vote does: there is nothing yet
            super().put(*args, **kwargs)  # type: ignore[arg-type]

    clock = FakeClock(1e9)
    assert not kept(ANSWER, cache=replace(slot(votes=votes), store=LayeredCache(Meanwhile(clock=clock), clock=clock)))


def changed(**fields: object) -> tuple[Hit, ...]:
    return (replace(HITS[0], chunk=replace(HITS[0].chunk, **fields)), HITS[1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hits", "is_same"),
    [
        (HITS[::-1], True),
        (changed(number=3), False),
        (changed(title="Other"), False),
        (changed(section="Other"), False),
        (changed(url="https://a.example"), False),
        (changed(text="Other"), False),
        ((*HITS, make_hit(number=3)), False),
    ],
    ids=["another order", "number", "title", "section", "address", "text", "one more"],
)
def test_of_another_version_an_answer_is_told_where_the_same_passages_are_found(
    hits: tuple[Hit, ...], is_same: bool
) -> None:
    cache, searched = slot(), []

    def search(prepared: PreparedQuestion) -> PreparedQuestion:
        searched.append((prepared.key, prepared.version))
        return replace(prepared, context=context(hits))

    def look_up(version: str) -> int | None:
        prepared = PreparedQuestion(question=QUESTION, query=QUERY)
        hit = replace(cache, version=lambda: version).look_up(prepared, search, make_ledger()).cached
        return hit.expires_at if hit else None

    assert cache.keep(replace(DRAFT, key=key()), ANSWER, HITS, top_score=0.8)
    expires_at = 1_000_000_000 + 30 * DAY_S
    again = expires_at if is_same else None
    assert [look_up("v1"), look_up("v2"), look_up("v2")] == [expires_at, again, again]
    assert searched == [(key(), "v2")] * (1 if is_same else 2)  # renewed, it needs no search


def test_the_question_is_embedded_ahead_of_the_shared_layer_and_not_for_what_this_process_has() -> None:
    events: list[str] = []

    class Shared(InMemoryAnswerCache):
        def get(self, key: str) -> CacheHit | None:
            events.append("shared layer")
            return super().get(key)

    shared = Shared()
    cache = replace(slot(), store=LayeredCache(shared), embed_ahead=lambda text: events.append(text))
    assert cache.get(key(), QUERY) is None
    assert events == ["Which permit?", "shared layer"]
    cache.keep(replace(DRAFT, key=key()), ANSWER, HITS, top_score=0.8)
    events.clear()
    hit = cache.get(key(), QUERY)
    assert (hit and hit.layer, events) == ("l1", [])


GROUNDS = (
    make_hit(number=7, cosine=0.8, url="https://a.example", section="Fees", category="abo", source_org="ABO"),
    make_hit("Other.", number=9, cosine=0.6, doc_id="other", title="Other \U0001f600"),
)
# What a citation rests on and what no store keeps.
MATCH = Match(similarities=np.ones((1, 3), np.float32), units=np.zeros((1, 9), np.uint16), title_tokens=1)
GROUND = replace(GROUNDS[0], score=0.9, match=MATCH)
CITED = replace(CITATION, section="Fees", position=11, hit=GROUND, also=GROUNDS[1:])
CITING = make_answer(
    text="Five days \U0001f600\x00.\n(Source: https://a.example)",
    question=Question(text="Which permit?", session_id="s" * 22, understood="Which permit?"),
    citations=(
        replace(CITED, chunk_id="id_7", support="partial", source_urls=("https://a.example", "https://b.example")),
    ),
    references=(Reference(n=1, hit=replace(GROUNDS[0], match=MATCH), support="partial", quote="Five days."),),
    found=(replace(GROUNDS[0], match=MATCH),),
    statements=(replace(BORNE, support="partial", chance=0.61),),
    sources=(Source(title="Permits", org="ABO", url="https://a.example", section="Fees"),),
    related_docs=(RelatedDoc(title="Other", category="abo", doc_id="other", url=""),),
    routing=Routing("escalate", "low"),
    chunks_retrieved=2,
    completion=replace(DONE, usage=Usage(prompt_tokens=9, completion_tokens=4, total_tokens=13)),
    llm=LlmUse(calls=2),
    trail=("of the first request",),
    skipped=("check",),
    events=("reframed",),
    timings={"total": 3.0},
)


def test_an_answer_comes_back_under_another_id_without_what_was_one_request_s() -> None:
    frozen = freeze(CITING, rests_on=GROUNDS[:1], vector=b"\x01\xff")
    assert (frozen.chunk_ids, frozen.vector) == (("id_7",), b"\x01\xff")
    body = encode_answer(frozen)
    assert body
    for private in ("s" * 22, "r1", "Which permit?", "Permits take five working days."):
        assert private not in body
    kept = decode(CachedAnswer, body)
    assert kept
    asked = Question(text="which permit", session_id="t" * 22)
    bare, other = (replace(hit, chunk=replace(hit.chunk, text="")) for hit in GROUNDS)
    assert thaw(kept, question=asked, response_id="r2", trail=("from the cache",)) == make_answer(
        text=CITING.text,
        question=asked,
        response_id="r2",
        citations=(replace(CITING.citations[0], hit=replace(bare, score=0.9), also=(other,)),),
        references=(replace(CITING.references[0], hit=bare),),
        found=(bare,),
        statements=CITING.statements,
        sources=CITING.sources,
        related_docs=CITING.related_docs,
        chunks_retrieved=2,
        completion=replace(DONE, text="", calls=0),
        cached=True,
        trail=("from the cache",),
    )
