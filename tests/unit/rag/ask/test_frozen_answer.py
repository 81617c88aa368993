"""rag.ask.answer_cache: an answer survives the cache, but for what belongs to one request."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit

from knowledge.model.values import Match
from rag.adapters.stores.layout import decode, encode_answer
from rag.ask.answer_cache import freeze, thaw
from rag.http.replies import query_reply, question_reply
from rag.values.answer import Answer, CheckedClaim, Citation, Confidence, RelatedDoc, Source
from rag.values.chat import Completion, Usage
from rag.values.question import Question
from rag.values.stored import CachedAnswer

HITS = (
    make_hit(number=7, cosine=0.8, url="https://a.example", section="Fees", category="abo", source_org="ABO"),
    make_hit("Other.", number=9, cosine=0.6, doc_id="other", title="Other \U0001f600"),
)
# What a citation rests on and what no store keeps.
MATCH = Match(similarities=np.ones((1, 3), np.float32), units=np.zeros((1, 9), np.uint16), title_tokens=1)
ANSWER = Answer(
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
            hit=replace(HITS[0], score=0.9, match=MATCH),
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
    return freeze(answer, rests_on=HITS[:1], vector=b"\x01\xff")


def round_trip(answer: Answer) -> Answer:
    """Through JSON, as every store keeps it."""
    body = encode_answer(frozen(answer))
    assert body is not None
    kept = decode(CachedAnswer, body)
    assert kept is not None
    return thaw(kept, question=answer.question, response_id="r2", trail=("from the cache",))


def test_the_reply_is_the_same_but_for_ids_and_metadata() -> None:
    before, after = (query_reply(answer).model_dump(mode="json") for answer in (ANSWER, round_trip(ANSWER)))
    assert {name: after[name] for name in after if name not in OF_ONE_REQUEST} == {
        name: before[name] for name in before if name not in OF_ONE_REQUEST
    }
    assert after["responseId"] == "r2"
    for name in ("query", "profile", "chunksRetrieved", "chunksUsed", "model", "finishReason"):
        assert after["metadata"][name] == before["metadata"][name], name


def test_what_the_check_found_comes_back() -> None:
    after = round_trip(ANSWER)
    assert after.statements == ANSWER.statements
    assert [citation.support for citation in after.citations] == ["partial"]


def test_all_the_chunks_that_a_citation_stands_for_are_told_again() -> None:
    (citation,) = ANSWER.citations
    answer = replace(ANSWER, citations=(replace(citation, also=HITS[1:]),))
    before, after = (question_reply(this, debug=False) for this in (answer, round_trip(answer)))
    assert before.sources == after.sources == ["id_7", "id_9"]


def test_nobody_wrote_it_anew() -> None:
    after = round_trip(ANSWER)
    assert after.completion is not None
    assert (after.completion.calls, after.completion.usage, after.cached) == (0, None, True)
    assert after.trail == ("from the cache",)


def test_what_is_kept_beside_the_reply() -> None:
    kept = frozen(ANSWER)
    assert (kept.chunk_ids, kept.vector) == (("id_7",), b"\x01\xff")


def test_nothing_of_the_session_is_kept() -> None:
    body = encode_answer(frozen(ANSWER))
    assert body is not None
    for private in ("s" * 22, "r1", "Which permit?"):
        assert private not in body


@pytest.mark.parametrize("text", ["\u0000", "\U0001f600 \u202e"])
def test_any_text_survives(text: str) -> None:
    assert round_trip(replace(ANSWER, text=text)).text == text
