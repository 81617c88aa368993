"""The stores on each table: one contract on DynamoDB and on SQLite.

``clock`` is the stores' own; the tests move it instead of waiting.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeClock
from fakes_stores import sqlite_table
from store_contract import (
    KEY,
    OTHER_KEY,
    OTHER_SESSION,
    SESSION,
    START,
    AnswerCacheContract,
    make_answer,
    make_response,
    make_turn,
    outline,
)

from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores import feedback as feedback_module
from rag.adapters.stores.cache import TableAnswerCache
from rag.adapters.stores.feedback import TableFeedback
from rag.adapters.stores.layout import digest
from rag.adapters.stores.sessions import TableMemory, forget_session
from rag.adapters.stores.table import Table
from rag.errors import TooManyVotes
from rag.values.stored import (
    DAY_S,
    MAX_ANSWER_CHARS,
    MAX_CHUNK_IDS,
    MAX_QUESTION_CHARS,
    MAX_TURNS,
    MAX_VOTES_PER_VOTER,
    RESPONSE_TTL_S,
    TURN_TTL_S,
    VOTE_TTL_S,
    ErasedCounts,
    ResponseRecord,
    Vote,
    quantise,
)

AWKWARD = 'a\ud800b "quoted" \x00\n#vote \U0001f600' + "é" * 3_000
"""A lone surrogate, a NUL, what keys are joined with, and longer than a DynamoDB key may be."""
VOTES_PER_CHUNK = 12
"""What is kept here: moto takes long for a vote."""
VERY_MANY_VOTES = 15
"""Of one voter: more than a store looks at here when one of them changes."""
MINE, THEIRS = "what MY permit costs", "what THEIR permit costs"


@pytest.fixture(params=[pytest.param("dynamodb", marks=pytest.mark.slow), "sqlite"])
def table(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Table]:
    if request.param == "dynamodb":
        yield request.getfixturevalue("dynamodb_table")
    else:
        with sqlite_table(tmp_path / "state" / "store.sqlite3", clock) as table:
            yield table


@pytest.fixture
def neighbour(table: Table, tmp_path: Path, clock: FakeClock) -> Iterator[Table]:
    """Another process's view of the table."""
    if isinstance(table, DynamoDbTable):
        yield table
    else:
        with sqlite_table(tmp_path / "state" / "store.sqlite3", clock) as neighbour:
            yield neighbour


@pytest.fixture
def cache(neighbour: Table) -> TableAnswerCache:
    return TableAnswerCache(neighbour)


@pytest.fixture
def memory(neighbour: Table) -> TableMemory:
    return TableMemory(neighbour)


@pytest.fixture
def limited(neighbour: Table, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], TableFeedback]:
    """Makes one that limits the votes of an hour."""
    monkeypatch.setattr(feedback_module, "MAX_VOTES_PER_CHUNK", VOTES_PER_CHUNK)
    monkeypatch.setattr(feedback_module, "MAX_READ_PER_VOTER", VERY_MANY_VOTES - 5)
    return lambda per_hour: TableFeedback(neighbour, votes_per_hour=per_hour)


@pytest.fixture
def feedback(limited: Callable[[int], TableFeedback]) -> TableFeedback:
    return limited(0)


class TestAnswerCache(AnswerCacheContract):
    pass


class TestMemory:
    def test_turns_come_back_oldest_first_and_those_of_one_moment_in_the_order_of_arrival(
        self, memory: TableMemory
    ) -> None:
        turns = [make_turn(number, sources=("https://example.org/a",), asked="And?" * number) for number in range(3)]
        alike = [make_turn(1, question=f"Question {number}?") for number in range(12)]
        for turn in (turns[2], turns[0], *alike):
            memory.remember(SESSION, turn)
        assert memory.recall(SESSION, limit=50) == (turns[0], *alike, turns[2])

    def test_a_session_never_sees_another_s_turns(self, memory: TableMemory) -> None:
        mine, theirs = make_turn(question="My secret is swordfish."), make_turn(question="Mine is not.")
        memory.remember(SESSION, mine)
        memory.remember(OTHER_SESSION, theirs)
        assert (memory.recall(SESSION, limit=50), memory.recall(OTHER_SESSION, limit=50)) == ((mine,), (theirs,))
        others = (SESSION[:-1], SESSION + "x", SESSION.upper(), "", "#", "%")
        assert {other: memory.recall(other, limit=50) for other in others} == dict.fromkeys(others, ())

    def test_concurrent_writers_lose_nothing_and_mix_nothing_up(self, memory: TableMemory) -> None:
        def converse(writer: int) -> None:
            for number in range(5):
                memory.remember(SESSION, make_turn(number * 8 + writer))
                memory.remember(f"{OTHER_SESSION}-{writer}", make_turn(writer))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(converse, range(8)))
        assert memory.recall(SESSION, limit=50) == tuple(make_turn(number) for number in range(40))
        assert memory.recall(f"{OTHER_SESSION}-3", limit=50) == (make_turn(3),) * 5

    def test_the_limit_keeps_the_latest_and_no_more_than_the_last_turns_count(self, memory: TableMemory) -> None:
        for number in range(MAX_TURNS + 5):
            memory.remember(SESSION, make_turn(number))
        turns = tuple(make_turn(number) for number in range(5, MAX_TURNS + 5))
        assert memory.recall(SESSION, limit=1_000) == turns
        assert memory.recall(SESSION, limit=2) == turns[-2:]
        assert memory.recall(SESSION, limit=0) == ()

    def test_turns_are_forgotten_one_by_one(self, memory: TableMemory, clock: FakeClock) -> None:
        memory.remember(SESSION, make_turn(0))
        clock.now += TURN_TTL_S / 2
        memory.remember(SESSION, make_turn(1))
        clock.now += TURN_TTL_S / 2 + 1
        assert memory.recall(SESSION, limit=10) == (make_turn(1),)
        clock.now += TURN_TTL_S
        assert memory.recall(SESSION, limit=10) == ()

    def test_overlong_turns_are_cut(self, memory: TableMemory) -> None:
        sources = ("u" * 501, *("url",) * 30)
        long = make_turn(question="q" * 50_000, asked="w" * 50_000, answer="a" * 500_000, sources=sources)
        memory.remember(SESSION, long)
        (turn,) = memory.recall(SESSION, limit=1)
        assert turn.question == "q" * (MAX_QUESTION_CHARS - 1) + "…"
        assert turn.asked == "w" * (MAX_QUESTION_CHARS - 1) + "…"
        assert turn.answer == "a" * (MAX_ANSWER_CHARS - 1) + "…"
        assert turn.sources == ("url",) * 20

    def test_a_full_session_of_the_longest_turns_comes_back(self, memory: TableMemory) -> None:
        question, asked = (char * MAX_QUESTION_CHARS for char in "\U0001f600\U0001f601")
        answer = "\U0001f600" * MAX_ANSWER_CHARS
        long = [make_turn(number, answer=answer, question=question, asked=asked) for number in range(MAX_TURNS)]
        for turn in long:
            memory.remember(SESSION, turn)
        assert memory.recall(SESSION, limit=MAX_TURNS) == tuple(long)

    def test_text_and_ids_may_hold_anything(self, memory: TableMemory) -> None:
        memory.remember(AWKWARD, make_turn(question="a\ud800b\x00'; DROP TABLE turns; --"))
        (turn,) = memory.recall(AWKWARD, limit=1)
        assert turn.question == "a�b\x00'; DROP TABLE turns; --"


class TestFeedback:
    def test_a_response_comes_back_whole_and_any_other_id_is_unknown(self, feedback: TableFeedback) -> None:
        feedback.record(make_response())
        bare = make_response("r2", session_id=None, cache_keys=(), vector=b"")
        feedback.record(bare)
        assert (feedback.response("r1"), feedback.response("r2")) == (make_response(), bare)
        others = ("", "R1", "r1 ", "r1#", AWKWARD)
        assert {other: feedback.response(other) for other in others} == dict.fromkeys(others, None)

    def test_responses_and_votes_are_forgotten_after_their_time(
        self, feedback: TableFeedback, clock: FakeClock
    ) -> None:
        feedback.record(make_response())
        feedback.vote(make_response(), voter=SESSION, helpful=False, at=START)
        clock.now = START + RESPONSE_TTL_S - 1
        assert feedback.response("r1")
        clock.now = START + RESPONSE_TTL_S + 1
        assert feedback.response("r1") is None
        clock.now = START + VOTE_TTL_S - 1
        assert outline(feedback, "id_1")
        assert feedback.recent_negative(KEY, since=0)
        clock.now = START + VOTE_TTL_S + 1
        assert feedback.votes_on(["id_1"], since=0) == {}
        assert not feedback.recent_negative(KEY, since=0)

    def test_a_vote_is_seen_from_each_chunk_of_its_response(self, feedback: TableFeedback) -> None:
        feedback.record(make_response())
        assert feedback.votes_on(["id_1"], since=0) == feedback.votes_on([], since=0) == {}
        feedback.vote(make_response(), voter=SESSION, helpful=True, at=START + 5)
        question, vector = "How long does a permit take?", quantise([0.6, -0.8, 0.0])
        vote = Vote(helpful=True, question=question, voter=SESSION, at=START + 5, vector=vector)
        assert feedback.votes_on(["id_2", "id_1", "id_9"], since=0) == {"id_1": (vote,), "id_2": (vote,)}

    def test_a_vote_with_an_attribute_of_another_release_counts(self, feedback: TableFeedback, table: Table) -> None:
        feedback.vote(make_response(), voter=SESSION, helpful=True, at=START + 5)
        copies = table.newest(f"chunk#{digest('id_1')}", prefix="vote#", limit=9)
        table.put_many(replace(one, attributes={**one.attributes, "reason": "new"}) for one in copies)
        assert outline(feedback, "id_1") == [(True, SESSION, START + 5)]

    @pytest.mark.parametrize(
        "votes", [[(True, 0), (False, 1), (False, 2), (True, 3), (False, 4)], [(False, 0), (True, 0)]]
    )
    def test_a_session_s_last_vote_on_a_response_counts(
        self, feedback: TableFeedback, votes: list[tuple[bool, int]]
    ) -> None:
        for helpful, moment in votes:
            feedback.vote(make_response(), voter=SESSION, helpful=helpful, at=START + moment)
        assert outline(feedback, "id_1") == [(votes[-1][0], SESSION, START + votes[-1][1])]

    def test_a_withdrawn_vote_is_gone_and_can_be_given_again(self, feedback: TableFeedback) -> None:
        feedback.vote(make_response(), voter=SESSION, helpful=False, at=START)
        feedback.vote(make_response(), voter=SESSION, helpful=None, at=START + 1)
        assert feedback.votes_on(["id_1", "id_2"], since=0) == {}
        assert not feedback.recent_negative(KEY, since=0)
        feedback.vote(make_response(), voter=SESSION, helpful=True, at=START + 2)
        assert outline(feedback, "id_1") == [(True, SESSION, START + 2)]

    @pytest.mark.parametrize("last", [True, None])
    def test_a_late_vote_does_not_undo_a_newer_one(self, feedback: TableFeedback, last: bool | None) -> None:
        feedback.vote(make_response(), voter=SESSION, helpful=last, at=START + 9)
        feedback.vote(make_response(), voter=SESSION, helpful=False, at=START + 1)
        assert [helpful for helpful, *_ in outline(feedback, "id_1")] == ([] if last is None else [True])
        assert not feedback.recent_negative(KEY, since=0)

    def test_votes_come_oldest_first_with_voters_and_responses_apart(self, feedback: TableFeedback) -> None:
        feedback.vote(make_response("r2"), voter="v1", helpful=True, at=START + 3)
        feedback.vote(make_response("r1"), voter="v2", helpful=False, at=START + 2)
        feedback.vote(make_response("r1"), voter="v1", helpful=True, at=START + 1)
        votes = [(True, "v1", START + 1), (False, "v2", START + 2), (True, "v1", START + 3)]
        assert outline(feedback, "id_1") == votes
        assert outline(feedback, "id_1", since=START + 2) == votes[1:]

    def test_of_a_much_voted_chunk_the_newest_responses_count(self, feedback: TableFeedback) -> None:
        for number in range(VOTES_PER_CHUNK + 3):
            response = make_response(f"r{number}", at=START + number, chunk_ids=("id_1",))
            feedback.vote(response, voter=f"v{number}", helpful=True, at=START + number)
        voters = [voter for _, voter, _ in outline(feedback, "id_1")]
        assert voters == [f"v{number}" for number in range(3, VOTES_PER_CHUNK + 3)]

    def test_one_voter_s_votes_leave_room_for_those_of_others(self, feedback: TableFeedback) -> None:
        others = [f"v{number}" for number in range(min(20, VOTES_PER_CHUNK - MAX_VOTES_PER_VOTER))]
        for number, voter in enumerate(others):
            feedback.vote(make_response(f"r{number}"), voter=voter, helpful=True, at=START + number)
        for number in range(VOTES_PER_CHUNK + 5):
            moment = START + 100 + number
            feedback.vote(make_response(f"angry{number}", at=moment), voter="angry", helpful=False, at=moment)
        last = START + 100 + VOTES_PER_CHUNK + 5
        assert outline(feedback, "id_1") == [
            *((True, voter, START + number) for number, voter in enumerate(others)),
            *((False, "angry", last - MAX_VOTES_PER_VOTER + number) for number in range(MAX_VOTES_PER_VOTER)),
        ]

    def test_a_voter_s_newest_votes_count_whatever_order_they_come_in(self, feedback: TableFeedback) -> None:
        for number in (6, 2, 0, 5, 1, 4, 3, 3):
            feedback.vote(make_response(f"r{number}"), voter="v", helpful=True, at=START + number)
        assert outline(feedback, "id_1") == [(True, "v", START + number) for number in range(2, 7)]

    def test_of_a_voter_s_votes_the_one_before_takes_the_place_of_a_withdrawn_one(
        self, feedback: TableFeedback
    ) -> None:
        def vote(number: int, helpful: bool | None, at: float) -> None:
            feedback.vote(make_response(f"r{number}", at=START + number), voter="v", helpful=helpful, at=START + at)

        for number in range(7):
            vote(number, True, number)
        vote(6, None, 10)
        vote(3, None, 11)
        assert outline(feedback, "id_1") == [(True, "v", START + number) for number in (0, 1, 2, 4, 5)]
        vote(5, None, 12)
        assert outline(feedback, "id_2") == [(True, "v", START + number) for number in (0, 1, 2, 4)]
        vote(6, False, 13)
        vote(0, False, 14)
        moments = [(True, 1), (True, 2), (True, 4), (False, 13), (False, 14)]
        assert outline(feedback, "id_1") == [(helpful, "v", START + at) for helpful, at in moments]

    def test_a_voter_s_votes_on_other_chunks_are_apart(self, feedback: TableFeedback) -> None:
        feedback.vote(make_response("r0", chunk_ids=("id_1", "id_3")), voter="v", helpful=True, at=START)
        for number in range(1, MAX_VOTES_PER_VOTER + 1):
            feedback.vote(make_response(f"r{number}", chunk_ids=("id_1",)), voter="v", helpful=False, at=START + number)
        assert [helpful for helpful, *_ in outline(feedback, "id_1")] == [False] * MAX_VOTES_PER_VOTER
        assert outline(feedback, "id_3") == [(True, "v", START)]

    def test_a_voter_may_withdraw_the_first_of_very_many_votes(self, feedback: TableFeedback) -> None:
        feedback.vote(make_response("r0", chunk_ids=("id_9",)), voter="v", helpful=False, at=START)
        for number in range(1, VERY_MANY_VOTES):
            feedback.vote(make_response(f"r{number}", at=START + number), voter="v", helpful=True, at=START + number)
        assert outline(feedback, "id_9") == [(False, "v", START)]
        feedback.vote(make_response("r0", chunk_ids=("id_9",)), voter="v", helpful=None, at=START + 500)
        assert outline(feedback, "id_9") == []

    def test_a_response_keeps_its_best_chunks_and_a_vote_reaches_them(self, feedback: TableFeedback) -> None:
        many = tuple(f"id_{number}" for number in range(MAX_CHUNK_IDS + 5))
        response = make_response(chunk_ids=many, question="q" * 20_000)
        feedback.record(response)
        kept = feedback.response("r1")
        assert kept
        assert kept.chunk_ids == many[:MAX_CHUNK_IDS]
        assert kept.question == "q" * (MAX_QUESTION_CHARS - 1) + "…"
        feedback.vote(response, voter=SESSION, helpful=False, at=START)
        assert set(feedback.votes_on(many, since=0)) == set(many[:MAX_CHUNK_IDS])

    def test_concurrent_voters_are_all_heard(self, feedback: TableFeedback) -> None:
        def vote(number: int) -> None:
            feedback.vote(make_response(f"r{number}"), voter=f"v{number}", helpful=number % 2 == 0, at=START + number)

        voters = range(min(24, VOTES_PER_CHUNK))
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(vote, voters))
        assert outline(feedback, "id_2") == [(n % 2 == 0, f"v{n}", START + n) for n in voters]

    def test_a_negative_vote_bars_its_cache_key_and_the_bar_falls_with_the_last(self, feedback: TableFeedback) -> None:
        assert not feedback.recent_negative(KEY, since=0)
        feedback.vote(make_response("r1"), voter="v1", helpful=True, at=START)
        assert not feedback.recent_negative(KEY, since=0)
        feedback.vote(make_response("r2"), voter="v2", helpful=False, at=START + 10)
        assert feedback.recent_negative(KEY, since=START + 10)
        assert not feedback.recent_negative(KEY, since=START + 11)
        assert not feedback.recent_negative(OTHER_KEY, since=0)
        feedback.vote(make_response("r1"), voter="v1", helpful=False, at=START + 12)
        feedback.vote(make_response("r1"), voter="v1", helpful=True, at=START + 13)
        assert feedback.recent_negative(KEY, since=0)
        feedback.vote(make_response("r2"), voter="v2", helpful=None, at=START + 13)
        assert not feedback.recent_negative(KEY, since=0)

    def test_anonymous_votes_bar_a_key_when_they_are_of_two_hours(self, feedback: TableFeedback) -> None:
        def vote(number: int, helpful: bool | None, *, hour: int = 0, chunk_id: str = "id_1") -> bool:
            given = make_response(f"r{number}", session_id=None, at=START + hour * 3600, chunk_ids=(chunk_id,))
            feedback.vote(given, voter=given.voter, helpful=helpful, at=given.at + number)
            return feedback.recent_negative(KEY, since=0)

        assert [vote(0, False), vote(1, False), vote(2, False, chunk_id="id_2")] == [False, False, False]
        assert vote(3, False, hour=1)
        assert not feedback.recent_negative(KEY, since=START + 3600)
        assert not feedback.recent_negative(OTHER_KEY, since=0)
        assert not vote(3, None, hour=1)
        feedback.vote(make_response("r4"), voter=SESSION, helpful=False, at=START)
        assert feedback.recent_negative(KEY, since=0)

    def test_a_vote_tells_whether_its_voter_was_never_against(self, feedback: TableFeedback) -> None:
        votes = [("r1", True), ("r2", True), ("r2", False), ("r2", None), ("r3", False)]
        told = [
            feedback.vote(make_response(response_id), voter="v", helpful=helpful, at=START + moment)
            for moment, (response_id, helpful) in enumerate(votes)
        ]
        assert told == [True, True, True, False, False]
        assert feedback.vote(make_response("r1"), voter="other", helpful=False, at=START)

    def test_anonymous_votes_at_once_are_one_voice(self, feedback: TableFeedback) -> None:
        def vote(number: int) -> None:
            response = make_response(f"r{number}", session_id=None, at=START + number)
            feedback.vote(response, voter=response.voter, helpful=False, at=START + number)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(vote, range(16)))
        assert len({voter for _, voter, _ in outline(feedback, "id_2")}) == 1
        assert not feedback.recent_negative(KEY, since=0)

    def test_a_response_bars_each_of_its_cache_keys_and_without_one_nothing(self, feedback: TableFeedback) -> None:
        both = make_response(cache_keys=(KEY, OTHER_KEY))
        feedback.vote(both, voter="v1", helpful=False, at=START)
        assert [feedback.recent_negative(key, since=0) for key in (KEY, OTHER_KEY)] == [True, True]
        feedback.vote(both, voter="v1", helpful=True, at=START + 1)
        assert [feedback.recent_negative(key, since=0) for key in (KEY, OTHER_KEY)] == [False, False]
        feedback.vote(make_response("r2", cache_keys=()), voter="v2", helpful=False, at=START + 2)
        assert [feedback.recent_negative(key, since=0) for key in (KEY, "None", "")] == [False] * 3
        assert outline(feedback, "id_1") == [(True, "v1", START + 1), (False, "v2", START + 2)]

    def test_a_session_gives_so_many_votes_an_hour_and_others_theirs(
        self, limited: Callable[[int], TableFeedback], clock: FakeClock
    ) -> None:
        feedback = limited(3)

        def vote(response: ResponseRecord, helpful: bool | None = True) -> None:
            feedback.vote(response, voter=response.voter, helpful=helpful, at=clock.now)

        began, alone = (make_response(name, session_id=None, began=to) for name, to in (("r0", SESSION), ("r9", None)))
        for response in (began, make_response("r1"), make_response("r1")):  # its first, another, the same again
            vote(response)
            clock.now += 600
        heard = outline(feedback, "id_1")
        for response in (began, make_response("r1"), make_response("r2")):
            with pytest.raises(TooManyVotes) as refused:
                vote(response, None)
            assert refused.value.retry_after == 1801  # the hour's end is a whole second
        assert outline(feedback, "id_1") == heard
        vote(make_response("r3", session_id=OTHER_SESSION))
        for _ in range(3):
            vote(alone)
        with pytest.raises(TooManyVotes):
            vote(alone)

        clock.now = START + 3599.5
        with pytest.raises(TooManyVotes):
            vote(make_response("r1"))
        clock.now = START + 3601
        for _ in range(3):
            vote(make_response("r1"))
        with pytest.raises(TooManyVotes) as refused:
            vote(make_response("r1"))
        assert refused.value.retry_after == 3601

    def test_votes_of_a_session_that_come_at_once_are_no_more_than_it_may_give(
        self, limited: Callable[[int], TableFeedback]
    ) -> None:
        feedback = limited(4)

        def vote(number: int) -> bool:
            try:
                feedback.vote(make_response(f"r{number}"), voter=SESSION, helpful=True, at=START)
            except TooManyVotes:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(vote, range(8))) == 4
        assert len(outline(feedback, "id_1")) == 4

    def test_text_and_ids_may_hold_anything(self, feedback: TableFeedback) -> None:
        response = make_response(AWKWARD, question=AWKWARD, chunk_ids=(AWKWARD, "", "id_1"))
        feedback.record(response)
        stored = feedback.response(AWKWARD)
        assert stored
        assert stored.question.startswith('a�b "quoted" \x00\n#vote \U0001f600')
        feedback.vote(response, voter=SESSION, helpful=True, at=START, comment=AWKWARD)
        found = feedback.votes_on([AWKWARD, "", "id_1"], since=0)
        assert set(found) == {AWKWARD, "", "id_1"}
        assert found[""][0].question == stored.question


@pytest.fixture
def texts(request: pytest.FixtureRequest, tmp_path: Path, table: Table) -> Callable[[], str]:
    """All that is stored, as text, whether it has expired or not.

    Of SQLite the bytes of the file and its log: what was deleted must not lie there either.
    """
    if isinstance(table, SqliteTable):
        with table.reading() as connection:
            connection.execute("PRAGMA secure_delete = OFF")  # as SQLite is, but not in every build
        return lambda: "".join(file.read_bytes().decode("latin-1") for file in (tmp_path / "state").iterdir())
    assert isinstance(table, DynamoDbTable)
    return lambda: str(table._client.client().scan(TableName=table._name)["Items"])


class TestForgetting:
    @pytest.fixture
    def feedback(self, limited: Callable[[int], TableFeedback]) -> TableFeedback:
        """One that counts."""
        return limited(60)

    def _converse(self, memory: TableMemory, feedback: TableFeedback, cache: TableAnswerCache) -> None:
        """Two sessions with the same marks each: a turn, an answer that is kept, and votes against with a comment."""
        for session, said, key in ((SESSION, MINE, KEY), (OTHER_SESSION, THEIRS, OTHER_KEY)):
            memory.remember(session, make_turn(question=said, answer=f"That is {said}."))
            cache.put(key, make_answer(f"An answer to {said}"), ttl_s=30 * DAY_S)
            given = {"question": said, "cache_keys": (key,)}
            own = make_response(f"own {said}", session_id=session, **given)
            first = make_response(f"first {said}", session_id=None, began=session, **given)
            for response in (own, first):
                feedback.record(response)
                feedback.vote(response, voter=response.voter, helpful=False, at=START, comment=f"No, {said}")

    def test_of_a_forgotten_session_nothing_is_left_and_of_the_other_everything(
        self,
        table: Table,
        memory: TableMemory,
        feedback: TableFeedback,
        cache: TableAnswerCache,
        texts: Callable[[], str],
    ) -> None:
        self._converse(memory, feedback, cache)
        assert forget_session(table, SESSION) == ErasedCounts(turns=1, responses=2, votes=2, answers=1)
        kept = texts()
        for trace in (MINE, SESSION, KEY, digest(SESSION)):
            assert trace not in kept
        assert (memory.recall(SESSION, limit=9), cache.get(KEY)) == ((), None)
        assert feedback.recent_negative(KEY, since=0) is False

        assert [turn.question for turn in memory.recall(OTHER_SESSION, limit=9)] == [THEIRS]
        assert cache.get(OTHER_KEY)
        assert feedback.response(f"own {THEIRS}")
        assert {vote.question for vote in feedback.votes_on(["id_1"], since=0)["id_1"]} == {THEIRS}
        assert feedback.recent_negative(OTHER_KEY, since=0) is True
        assert forget_session(table, SESSION) == ErasedCounts(turns=0, responses=0, votes=0, answers=0)

    def test_a_vote_is_forgotten_when_its_response_has_gone(
        self, table: Table, feedback: TableFeedback, clock: FakeClock, texts: Callable[[], str]
    ) -> None:
        response = make_response(question=MINE)
        feedback.vote(response, voter=response.voter, helpful=False, at=START)
        clock.now += RESPONSE_TTL_S + 1
        assert forget_session(table, SESSION) == ErasedCounts(turns=0, responses=0, votes=1, answers=0)
        assert feedback.recent_negative(KEY, since=0) is False
        assert MINE not in texts()
        assert digest(SESSION) not in texts()

    def test_what_has_expired_is_forgotten_too(
        self, table: Table, memory: TableMemory, feedback: TableFeedback, clock: FakeClock, texts: Callable[[], str]
    ) -> None:
        memory.remember(SESSION, make_turn(question=MINE))
        feedback.record(make_response(question=MINE))
        clock.now += VOTE_TTL_S + 1
        forget_session(table, SESSION)
        assert MINE not in texts()

    def test_a_session_whose_id_is_part_of_another_s_is_not_that_one(
        self, table: Table, feedback: TableFeedback
    ) -> None:
        feedback.record(make_response("r1", session_id=f"{SESSION}-and-more"))
        assert forget_session(table, SESSION) == ErasedCounts(turns=0, responses=0, votes=0, answers=0)
        assert feedback.response("r1")

    def test_very_many_turns_and_votes_are_all_forgotten(
        self, table: Table, memory: TableMemory, feedback: TableFeedback, texts: Callable[[], str]
    ) -> None:
        """More than a batch of turns, and with their copies of votes."""
        for number in range(26):
            memory.remember(SESSION, make_turn(number, question=f"{MINE} {number}"))
        for number in range(10):
            response = make_response(f"r{number}", question=MINE, at=START + number)
            feedback.vote(response, voter=response.voter, helpful=True, at=START + number)
        assert forget_session(table, SESSION) == ErasedCounts(turns=26, responses=0, votes=10, answers=0)
        assert MINE not in texts()
        assert feedback.votes_on(["id_1"], since=0) == {}
