"""rag.answer.feedback_log: what is kept of a response, and what a vote does."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeClock, make_answer, make_hit
from fakes_stores import InMemoryAnswerCache

from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores.feedback import TableFeedback
from rag.answer.feedback_log import FeedbackLog, select_grounds
from rag.ask.answer_cache import freeze
from rag.errors import StoreUnavailable, UnknownResponse
from rag.values.answer import Answer, Citation, Context, Passage
from rag.values.question import Question
from rag.values.stored import CacheHit, ResponseRecord, quantise

HITS = (make_hit(number=1), make_hit(number=2))
SESSION = "s" * 22
VECTOR = np.array([0.6, 0.8, 0.0, 0.0], np.float32)
ASKED = Question(text="And permits?", session_id=SESSION, understood="Which permits?")
ANSWER = make_answer(question=ASKED, profile="gacounts")


class Stuck(InMemoryAnswerCache):
    def evict(self, key: str) -> None:
        raise StoreUnavailable("down")


class Kept:
    """A log over stores of its own; ``embedded`` is what it embedded."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock(1e9)
        self.embedded: list[str] = []
        self.table = SqliteTable(folder / "stores.sqlite", clock=self.clock)
        self.store = TableFeedback(self.table)
        self.cache = InMemoryAnswerCache(clock=self.clock)
        self.log = FeedbackLog(store=self.store, cache=self.cache, embed=self.embed, now=self.clock)

    def embed(self, text: str) -> np.ndarray:
        self.embedded.append(text)
        return VECTOR

    def answered(self, key: str | None = "k", *, response_id: str = "r1", session: str | None = SESSION) -> None:
        self.log.record(replace(ANSWER, response_id=response_id), HITS, session, key, None)
        if key:
            self.cache.put(key, FROZEN, ttl_s=100.0)

    def vote(self, helpful: bool | None, *, response_id: str = "r1") -> None:
        self.log.vote(response_id, helpful=helpful, comment=None)

    @property
    def response(self) -> ResponseRecord:
        """What is kept of the answer."""
        found = self.store.response("r1")
        assert found is not None
        return found


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.table.renew()


FROZEN = freeze(ANSWER, rests_on=HITS, vector=b"\x01\x02")


def cites(*numbers: int, also: tuple[int, ...] = ()) -> Answer:
    """An answer that cites chunks, each together with ``also``."""
    hits, others = ([make_hit(number=n) for n in several] for several in (numbers, also))
    cited = [Citation(raw="[x]", title="", section="", position=0, hit=hit, also=tuple(others)) for hit in hits]
    return replace(ANSWER, citations=tuple(cited))


CONTEXT = Context("...", tuple(Passage(hit=make_hit(number=n), citation="[x]", text="") for n in (3, 1, 2)))


@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        (cites(2, 3), CONTEXT, [3, 2]),
        (cites(1, 1), CONTEXT, [1]),
        (cites(1, also=(3,)), CONTEXT, [3, 1]),
        (cites(), CONTEXT, [3, 1, 2]),
        (cites(9), CONTEXT, [3, 1, 2]),
        (cites(), None, []),
    ],
)
def test_an_answer_rests_on_what_it_cites_else_on_what_its_writer_saw(
    answer: Answer, context: Context | None, expected: list[int]
) -> None:
    assert [hit.chunk.number for hit in select_grounds(answer, context)] == expected


def test_a_response_is_kept_with_what_it_rests_on_and_the_session_that_began_with_it(kept: Kept) -> None:
    kept.answered()
    response = kept.response
    assert (response.question, response.chunk_ids, response.profile) == ("Which permits?", ("id_1", "id_2"), "gacounts")
    assert (response.vector, response.cache_keys, response.at) == (quantise(VECTOR), ("k",), 1e9)
    assert (response.session_id, response.began, response.voter) == (SESSION, None, SESSION)
    assert kept.embedded == ["Which permits?"]
    kept.answered(session=None)
    assert (kept.response.session_id, kept.response.began, kept.response.voter == SESSION) == (None, SESSION, False)


def test_of_a_cached_answer_what_it_was_made_of_is_kept_of_a_decline_nothing_and_none_is_embedded(kept: Kept) -> None:
    kept.log.record(ANSWER, (), SESSION, "k", CacheHit(key="k", answer=FROZEN, layer="l2", expires_at=2_000_000_000))
    response = kept.response
    assert (response.chunk_ids, response.vector, response.cache_keys) == (("id_1", "id_2"), b"\x01\x02", ("k",))
    kept.log.record(ANSWER, (), SESSION, "k", None)
    assert (kept.response.chunk_ids, kept.response.vector, kept.embedded) == ((), b"", [])


@pytest.mark.parametrize(("helpful", "left"), [(True, True), (None, True), (False, False)])
def test_only_a_vote_against_evicts(kept: Kept, helpful: bool | None, left: bool) -> None:
    kept.answered()
    kept.vote(helpful)
    assert (kept.cache.get("k") is not None) == left
    assert kept.store.recent_negative("k", since=0) == (not left)


def test_of_an_hour_s_anonymous_votes_the_first_one_against_evicts(kept: Kept) -> None:
    left = []
    for response_id, helpful in (("r1", True), ("r2", False), ("r3", False), ("r3", None), ("r4", False)):
        kept.answered(response_id=response_id, session=None)
        kept.vote(helpful, response_id=response_id)
        left.append(kept.cache.get("k") is not None)
    assert left == [True, False, True, True, True]
    assert not kept.store.recent_negative("k", since=0)


def test_anonymous_votes_of_two_hours_keep_out_and_each_can_be_withdrawn_later(kept: Kept) -> None:
    barred = []
    for moment, response_id, helpful in ((0, "r1", False), (3600, "r2", False), (9000, "r1", None), (9000, "r3", None)):
        kept.clock.now = 1e9 + moment
        if kept.store.response(response_id) is None:
            kept.answered(response_id=response_id, session=None)
        kept.vote(helpful, response_id=response_id)
        barred.append(kept.store.recent_negative("k", since=0))
    assert barred == [False, True, False, False]
    (votes, _) = kept.store.votes_on(["id_1", "id_2"], since=0).values()
    assert [vote.helpful for vote in votes] == [False]


def test_a_vote_counts_for_the_session_and_the_last_one_stands(kept: Kept) -> None:
    kept.answered()
    for helpful in (False, True, None, True):
        kept.vote(helpful)
    ((vote,),) = kept.store.votes_on(["id_1"], since=0).values()
    assert (vote.helpful, vote.voter) == (True, SESSION)
    kept.vote(None)
    assert kept.store.votes_on(["id_1"], since=0) == {}


def test_a_vote_is_kept_where_there_is_nothing_to_evict(kept: Kept) -> None:
    kept.answered(key=None)  # of a response that held history
    kept.vote(False)
    ((vote,),) = kept.store.votes_on(["id_2"], since=0).values()
    assert not vote.helpful


@pytest.mark.parametrize("cache", [None, Stuck()], ids=["no cache", "a cache that fails"])
def test_a_vote_that_cannot_evict_is_kept_and_keeps_the_answer_out(kept: Kept, cache: Stuck | None) -> None:
    kept.answered()
    with pytest.raises(StoreUnavailable) if cache else nullcontext():
        replace(kept.log, cache=cache).vote("r1", helpful=False, comment=None)
    assert kept.cache.get("k") is not None
    assert kept.store.recent_negative("k", since=0)


def test_an_unknown_or_forgotten_response_raises(kept: Kept) -> None:
    with pytest.raises(UnknownResponse):
        kept.vote(True)
    kept.answered()
    kept.clock.now += 31 * 86_400
    with pytest.raises(UnknownResponse):
        kept.vote(True)
