"""What tests put into stores, and what every kind of answer cache must do.

A kind's tests inherit the contract and say, as fixtures, how one is made; ``clock`` is its own.
"""

from typing import Any

from fakes import FakeClock, make_hit

from rag.ports import AnswerCache, FeedbackStore
from rag.values.answer import Answer, Citation, Confidence, RelatedDoc, Source
from rag.values.chat import Completion
from rag.values.question import Question, Turn
from rag.values.stored import DAY_S, MAX_ANSWER_BYTES, CachedAnswer, ResponseRecord, quantise

START = 1_800_000_000.25
KEY, OTHER_KEY = "a" * 64, "b" * 64
SESSION, OTHER_SESSION = "s-0123456789abcdefghijkl", "s-0123456789abcdefghijkm"


def make_answer(text: str = "Five working days.") -> CachedAnswer:
    """An answer with every part in use."""
    hit = make_hit("", number=7, cosine=0.5, section="Fees")
    citation = Citation(raw="[Permits]", title="Permits", section="", position=3, hit=hit, also=(hit,), chunk_id="id_7")
    answer = Answer(
        text=text,
        question=Question(text=""),
        profile="gacounts",
        response_id="",
        confidence=Confidence("High", 81.5, "two sources"),
        refused=False,
        citations=(citation,),
        sources=(Source(title="Permits", org="ABO", url="https://a.example", section=""),),
        related_docs=(RelatedDoc(title="Permits", category="", doc_id="permits", url=""),),
        chunks_retrieved=2,
        completion=Completion(text="", model="gpt-4o", finish_reason="stop", calls=0),
        cached=True,
    )
    return CachedAnswer(answer=answer, chunk_ids=("id_1", "id_7"), vector=bytes(range(256)))


def make_turn(number: int = 0, **fields: Any) -> Turn:
    """The turn that was taken ``number`` seconds after the start."""
    defaults: dict[str, Any] = {"question": f"Question {number}?", "answer": f"Answer {number}.", "at": START + number}
    return Turn(**{**defaults, **fields})


def make_response(response_id: str = "r1", **fields: Any) -> ResponseRecord:
    """A response that used two chunks."""
    defaults: dict[str, Any] = {
        "question": "How long does a permit take?",
        "chunk_ids": ("id_1", "id_2"),
        "profile": "gacounts",
        "at": START,
        "vector": quantise([0.6, -0.8, 0.0]),
        "session_id": SESSION,
        "cache_keys": (KEY,),
    }
    return ResponseRecord(**{**defaults, "response_id": response_id, **fields})


def cached_text(cache: AnswerCache) -> str | None:
    """The text of the answer that is kept under KEY."""
    hit = cache.get(KEY)
    return hit.answer.answer.text if hit else None


class AnswerCacheContract:
    """Wants the fixtures ``cache`` and ``clock``."""

    def test_an_answer_comes_back_whole_and_under_its_key_alone(self, cache: AnswerCache) -> None:
        cache.put(KEY, make_answer(), ttl_s=60)
        hit = cache.get(KEY)
        assert hit
        assert (hit.key, hit.answer) == (KEY, make_answer())
        assert cache.get(OTHER_KEY) is None

    def test_the_later_answer_replaces_the_earlier(self, cache: AnswerCache) -> None:
        cache.put(KEY, make_answer("old"), ttl_s=60)
        cache.put(KEY, make_answer("new"), ttl_s=60)
        assert cached_text(cache) == "new"

    def test_an_evicted_answer_is_gone_and_the_others_stay(self, cache: AnswerCache) -> None:
        cache.put(KEY, make_answer(), ttl_s=60)
        cache.put(OTHER_KEY, make_answer("other"), ttl_s=60)
        cache.evict(KEY)
        cache.evict(KEY)  # again: not an error
        assert cache.get(KEY) is None
        assert cache.get(OTHER_KEY)

    def test_an_answer_lives_as_long_as_it_was_told_to(self, cache: AnswerCache, clock: FakeClock) -> None:
        cache.put(KEY, make_answer(), ttl_s=30 * DAY_S)
        clock.now += 30 * DAY_S - 1
        hit = cache.get(KEY)
        assert hit
        assert hit.expires_at == 1_800_000_001 + 30 * DAY_S
        clock.now += 2
        assert cache.get(KEY) is None

    def test_an_answer_is_kept_up_to_its_limit(self, cache: AnswerCache) -> None:
        largest = "é" * (MAX_ANSWER_BYTES // 2 - 1000)
        cache.put(KEY, make_answer(largest), ttl_s=60)
        cache.put(OTHER_KEY, make_answer("x" * MAX_ANSWER_BYTES), ttl_s=60)
        assert cached_text(cache) == largest
        assert cache.get(OTHER_KEY) is None

    def test_text_that_no_encoder_takes_is_mended(self, cache: AnswerCache) -> None:
        cache.put(KEY, make_answer("a\ud800b\x00\U0001f600"), ttl_s=60)
        assert cached_text(cache) == "a�b\x00\U0001f600"


def outline(feedback: FeedbackStore, chunk_id: str, *, since: float = 0) -> list[tuple[bool, str, float]]:
    """The votes on one chunk without what they have in common."""
    votes = feedback.votes_on([chunk_id], since=since).get(chunk_id, ())
    return [(vote.helpful, vote.voter, vote.at) for vote in votes]
