"""The stores in DynamoDB: the contract against moto in this process and as a server, then everything that can fail.

The server stands behind a script: a step answers in moto's place, so throttling, conflicts and outages come when told.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from fakes import FakeClock, Machine
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from store_contract import (
    KEY,
    SESSION,
    START,
    AnswerCacheContract,
    FeedbackContract,
    ForgettingContract,
    MemoryContract,
    make_answer,
    make_response,
    make_turn,
    outline,
)
from werkzeug.serving import make_server

from rag.adapters.dynamodb import client as dynamodb_client
from rag.adapters.dynamodb import feedback as dynamodb_feedback
from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
from rag.adapters.dynamodb.client import TRIES
from rag.adapters.dynamodb.feedback import TRIES_AT_ONCE, DynamoDbFeedback, count_key
from rag.adapters.dynamodb.items import Key, Row, marshal_key
from rag.adapters.dynamodb.memory import DynamoDbMemory
from rag.adapters.dynamodb.sessions import DynamoDbSessions
from rag.adapters.dynamodb.table import IAM_ACTIONS, PAUSES_S, DynamoDbTable
from rag.adapters.guarded_stores import guarded
from rag.adapters.store_guard import COOL_OFF_S, StoreGuard
from rag.errors import StoreOutOfReach, StoreUnavailable, TooManyVotes
from rag.values.stored import MAX_CHUNK_IDS

pytestmark = pytest.mark.slow

type StartResponse = Callable[..., object]
type Wsgi = Callable[[dict[str, Any], StartResponse], Any]
type Step = Wsgi | None

REGION = "eu-central-1"
API = "com.amazonaws.dynamodb.v20120810"
THROTTLED = "ProvisionedThroughputExceededException"

NEVER_IMPORTED = """
import sys
from pathlib import Path
from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
from rag.adapters.dynamodb.feedback import DynamoDbFeedback
from rag.adapters.dynamodb.memory import DynamoDbMemory
from rag.adapters.dynamodb.table import DynamoDbTable
table = DynamoDbTable("a-table")
stores = DynamoDbAnswerCache(table), DynamoDbMemory(table), DynamoDbFeedback(table)
table.reset()
print([name for name in ("boto3", "botocore") if name in sys.modules])
"""


@dataclass
class ScriptedServer:
    """moto behind a script: each request takes the next step; without one, or on None, moto answers."""

    url: str = ""
    script: deque[Step] = field(default_factory=deque)
    calls: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    """Of the callers, one for each call: those of one connection are the same."""

    def wrap(self, moto: Wsgi) -> Wsgi:
        turn = threading.Lock()

        def app(environ: dict[str, Any], start_response: StartResponse) -> Any:
            operation = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
            if operation and operation not in ("CreateTable", "DeleteTable"):
                self.calls.append(operation)
                self.ports.append(environ["REMOTE_PORT"])
                step = self.script.popleft() if self.script else None
                if step:
                    return step(environ, start_response)
            with turn:  # moto copies its tables for a transaction, and breaks when another thread writes meanwhile
                return moto(environ, start_response)

        return app


def refuse(code: str, *, status: int = 400, **more: object) -> Wsgi:
    """A step: DynamoDB's error ``code``."""
    return reply({"__type": f"{API}#{code}", "message": "the vendor's words", **more}, status=status)


def reply(body: Mapping[str, object] | Callable[[dict[str, Any]], Mapping[str, object]], *, status: int = 200) -> Wsgi:
    """A step: this body, or what a function makes of the request's."""

    def step(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        request = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        answer = json.dumps(body(request) if callable(body) else body).encode()
        start_response(f"{status} Scripted", [("Content-Type", "application/x-amz-json-1.0")])
        return [answer]

    return step


def conflict() -> Wsgi:
    """A step: another transaction has an item of this one."""
    return refuse(
        "TransactionCanceledException", CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}]
    )


def silence(released: threading.Event) -> Wsgi:
    """A step: no answer until ``released``."""

    def step(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        released.wait(600)
        start_response("500 Too late", [])
        return [b""]

    return step


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    server = make_server("127.0.0.1", 0, scripted.wrap(DomainDispatcherApplication(create_backend_app)), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    scripted.url = f"http://127.0.0.1:{server.server_port}"
    yield scripted
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(running: ScriptedServer) -> ScriptedServer:
    running.script.clear()
    running.calls.clear()
    running.ports.clear()
    return running


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now=START)


@pytest.fixture
def sleeps() -> list[float]:
    """The pauses that the table made, instead of making them."""
    return []


def create_table(endpoint_url: str | None = None) -> str:
    """A table as the template makes it, under a name of its own."""
    name = f"table-{uuid.uuid4()}"
    boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint_url).create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
    )
    return name


@pytest.fixture
def table(server: ScriptedServer, clock: FakeClock, sleeps: list[float]) -> Iterator[DynamoDbTable]:
    """One on moto as a server. moto copies every table for each transaction, so none stays longer than its test."""
    name = create_table(server.url)
    table = DynamoDbTable(name, region=REGION, endpoint_url=server.url, clock=clock, sleep=sleeps.append)
    yield table
    table.reset()
    boto3.client("dynamodb", region_name=REGION, endpoint_url=server.url).delete_table(TableName=name)


@pytest.fixture
def guard(clock: FakeClock) -> StoreGuard:
    """One whose questions have all the time of the fake clock."""
    return StoreGuard(0.1, clock=clock, wall=clock, run=Machine().run)


class TestAnswerCache(AnswerCacheContract):
    @pytest.fixture
    def cache(self, table: DynamoDbTable) -> DynamoDbAnswerCache:
        return DynamoDbAnswerCache(table)


class TestMemory(MemoryContract):
    @pytest.fixture
    def memory(self, table: DynamoDbTable) -> DynamoDbMemory:
        return DynamoDbMemory(table)


class TestFeedback(FeedbackContract):
    votes_per_chunk, very_many_votes = 30, 25

    @pytest.fixture
    def feedback(self, table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch) -> DynamoDbFeedback:
        monkeypatch.setattr(dynamodb_feedback, "MAX_VOTES_PER_CHUNK", self.votes_per_chunk)
        monkeypatch.setattr(dynamodb_feedback, "MAX_OF_VOTER", self.very_many_votes - 5)
        return DynamoDbFeedback(table)

    @pytest.fixture
    def limited(self, table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], DynamoDbFeedback]:
        # A second try counts once in DynamoDB, by its ClientRequestToken, and twice in moto: a slow machine makes none.
        monkeypatch.setattr(dynamodb_client, "READ_TIMEOUT_S", 60)
        return lambda per_hour: DynamoDbFeedback(table, per_hour=per_hour)


class TestForgetting(ForgettingContract):
    @pytest.fixture
    def sessions(self, table: DynamoDbTable) -> DynamoDbSessions:
        return DynamoDbSessions(table)

    @pytest.fixture
    def memory(self, table: DynamoDbTable) -> DynamoDbMemory:
        return DynamoDbMemory(table)

    @pytest.fixture
    def feedback(self, table: DynamoDbTable) -> DynamoDbFeedback:
        return DynamoDbFeedback(table, per_hour=60)

    @pytest.fixture
    def cache(self, table: DynamoDbTable) -> DynamoDbAnswerCache:
        return DynamoDbAnswerCache(table)

    @pytest.fixture
    def texts(self, server: ScriptedServer, table: DynamoDbTable) -> Callable[[], str]:
        client = boto3.client("dynamodb", region_name=REGION, endpoint_url=server.url)
        return lambda: str(client.scan(TableName=table._name)["Items"])


ROW = Row(Key("a", "b"), {"at": START}, int(START) + 60)
OPERATIONS: Mapping[str, Callable[[DynamoDbTable], object]] = {
    "GetItem": lambda table: DynamoDbAnswerCache(table).get(KEY),
    "PutItem": lambda table: DynamoDbAnswerCache(table).put(KEY, make_answer(), ttl_s=60),
    "DeleteItem": lambda table: DynamoDbAnswerCache(table).evict(KEY),
    "Query": lambda table: DynamoDbMemory(table).recall(SESSION, limit=3),
    "BatchGetItem": lambda table: DynamoDbFeedback(table).votes_on(["id_1"], since=0),
    "BatchWriteItem": lambda table: table.put_many([ROW]),
    "TransactWriteItems": lambda table: table.replace_unless_newer(ROW, puts=(), deletes=()),
}
"""For each operation something whose first call it is."""


def vote(table: DynamoDbTable, *, helpful: bool | None, at: float = START, per_hour: int = 0) -> None:
    DynamoDbFeedback(table, per_hour=per_hour).vote(make_response(), voter=SESSION, helpful=helpful, at=at)


@pytest.mark.parametrize("operation", ["GetItem", "BatchGetItem", "TransactWriteItems"])
def test_lasting_throttling_is_an_error_of_ours_after_two_tries(
    server: ScriptedServer, table: DynamoDbTable, operation: str
) -> None:
    server.script.extend([refuse(THROTTLED)] * TRIES)
    with pytest.raises(StoreUnavailable, match=THROTTLED) as caught:
        OPERATIONS[operation](table)
    assert server.calls == [operation] * TRIES
    assert caught.value.__cause__ is not None
    assert "vendor" not in str(caught.value)


def test_short_throttling_is_waited_out(server: ScriptedServer, table: DynamoDbTable) -> None:
    server.script.append(refuse(THROTTLED))
    DynamoDbAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    assert DynamoDbAnswerCache(table).get(KEY)
    assert server.calls == ["PutItem", "PutItem", "GetItem"]


def throttled_inside() -> Wsgi:
    """A step: a transaction that was cancelled because an item of it was asked for too much."""
    reasons = [{"Code": "None"}, {"Code": "ThrottlingError"}]
    return refuse("TransactionCanceledException", CancellationReasons=reasons)


def never_done() -> Wsgi:
    """A step: of a batch nothing was done."""
    return reply(lambda request: {"Responses": {}, "UnprocessedItems": request["RequestItems"]})


@pytest.mark.parametrize(
    ("operation", "steps"),
    [
        *(("GetItem", [refuse(code)] * TRIES) for code in (THROTTLED, "RequestLimitExceeded")),
        ("TransactWriteItems", [throttled_inside()]),
        ("BatchWriteItem", [never_done()] * (len(PAUSES_S) + 1)),
    ],
)
def test_after_lasting_throttling_no_question_asks_for_a_while(
    server: ScriptedServer, table: DynamoDbTable, guard: StoreGuard, clock: FakeClock, operation: str, steps: list[Wsgi]
) -> None:
    """Else each stage of each question would wait for its tries."""
    server.script.extend(steps)
    with guard.question():
        with pytest.raises(StoreUnavailable):
            guard.write(lambda: OPERATIONS[operation](table))
        with pytest.raises(StoreUnavailable, match="not tried"):
            guarded(DynamoDbMemory(table), guard).recall(SESSION, limit=1)
        assert len(server.calls) == len(steps)
        clock.now += COOL_OFF_S + 1
        assert guarded(DynamoDbAnswerCache(table), guard).get(KEY) is None


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException"])
def test_what_no_retry_helps_is_said_at_once(server: ScriptedServer, table: DynamoDbTable, code: str) -> None:
    server.script.append(refuse(code))
    with pytest.raises(StoreUnavailable, match=code):
        DynamoDbAnswerCache(table).get(KEY)
    assert server.calls == ["GetItem"]


def test_after_an_outage_no_question_asks_for_a_while_and_a_vote_does(
    server: ScriptedServer, table: DynamoDbTable, guard: StoreGuard, clock: FakeClock
) -> None:
    cache = guarded(DynamoDbAnswerCache(table), guard)
    server.script.extend([refuse("InternalServerError", status=500)] * TRIES)
    with guard.question():
        with pytest.raises(StoreOutOfReach, match="InternalServerError"):
            cache.get(KEY)
        clock.now += COOL_OFF_S - 1
        with pytest.raises(StoreUnavailable, match="not tried"):
            cache.get(KEY)
    assert len(server.calls) == TRIES
    feedback = guarded(DynamoDbFeedback(table), guard)
    feedback.vote(make_response(), voter=SESSION, helpful=False, at=START)
    assert outline(feedback, "id_1") == [(False, SESSION, START)]
    with guard.question():
        assert cache.get(KEY) is None


def test_a_server_that_is_silent_is_given_up(
    server: ScriptedServer, table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamodb_client, "READ_TIMEOUT_S", 0.3)
    released = threading.Event()
    server.script.extend([silence(released)] * TRIES)
    try:
        with pytest.raises(StoreOutOfReach, match="ReadTimeoutError"):
            DynamoDbAnswerCache(table).get(KEY)
    finally:
        released.set()
    assert server.calls == ["GetItem"] * TRIES


def test_a_server_that_is_not_there_is_an_error_of_ours(clock: FakeClock) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        table = DynamoDbTable(
            "table", region=REGION, endpoint_url=f"http://127.0.0.1:{taken.getsockname()[1]}", clock=clock
        )
        with pytest.raises(StoreUnavailable, match="EndpointConnectionError"):
            DynamoDbAnswerCache(table).get(KEY)


@pytest.mark.parametrize("endpoint_url", [None, "not a url"], ids=["no region", "no endpoint"])
def test_a_client_that_cannot_be_made_is_an_error_of_ours(endpoint_url: str | None, clock: FakeClock) -> None:
    table = DynamoDbTable("table", region=REGION if endpoint_url else None, endpoint_url=endpoint_url, clock=clock)
    with pytest.raises(StoreUnavailable, match="DynamoDB client"):
        DynamoDbAnswerCache(table).get(KEY)


def test_without_credentials_it_is_an_error_of_ours(
    server: ScriptedServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    table = DynamoDbTable("table", region=REGION, endpoint_url=server.url, clock=clock)
    with pytest.raises(StoreUnavailable, match="NoCredentialsError"):
        DynamoDbAnswerCache(table).get(KEY)


def test_a_vote_that_meets_another_transaction_is_tried_again(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float]
) -> None:
    server.script.extend([None, None, conflict(), conflict()])
    vote(table, helpful=False)
    assert sleeps == list(PAUSES_S[:2])
    assert outline(DynamoDbFeedback(table), "id_1") == [(False, SESSION, START)]


def test_a_vote_that_always_meets_others_fails_whole(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float]
) -> None:
    server.script.extend([None, None, *[conflict()] * (len(PAUSES_S) + 1)])
    with pytest.raises(StoreUnavailable, match="TransactionCanceledException"):
        vote(table, helpful=False)
    assert sleeps == list(PAUSES_S)
    assert DynamoDbFeedback(table).votes_on(["id_1"], since=0) == {}
    assert not DynamoDbFeedback(table).recent_negative(KEY, since=0)


def test_a_transaction_that_is_throttled_inside_is_not_taken_for_an_old_vote(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    server.script.extend([None, None, throttled_inside()])
    with pytest.raises(StoreUnavailable):
        vote(table, helpful=False)


def test_a_newer_vote_that_wins_the_race_stands(server: ScriptedServer, table: DynamoDbTable) -> None:
    def overtaken(environ: dict[str, Any], start_response: StartResponse) -> Any:
        vote(table, helpful=True, at=START + 1)
        return refuse("TransactionCanceledException", CancellationReasons=[{"Code": "ConditionalCheckFailed"}])(
            environ, start_response
        )

    server.script.extend([None, None, overtaken])
    vote(table, helpful=False, at=START)
    assert outline(DynamoDbFeedback(table), "id_1") == [(True, SESSION, START + 1)]


def test_a_refused_vote_costs_one_read(server: ScriptedServer, table: DynamoDbTable) -> None:
    vote(table, helpful=True, per_hour=1)
    server.calls.clear()
    with pytest.raises(TooManyVotes):
        vote(table, helpful=False, per_hour=1)
    assert server.calls == ["GetItem"]


@pytest.mark.parametrize("given", [0, 1])
def test_a_place_that_another_vote_took_since_it_was_read_is_not_taken_twice(
    server: ScriptedServer, table: DynamoDbTable, given: int
) -> None:
    for _ in range(given):
        vote(table, helpful=True, per_hour=given + 1)
    count = boto3.client("dynamodb", region_name=REGION, endpoint_url=server.url).get_item(
        TableName=table._name, Key=marshal_key(count_key(SESSION))
    )
    read_before = {"Item": count["Item"]} if given else {}
    vote(table, helpful=True, per_hour=given + 1)
    server.calls.clear()
    server.script.append(reply(read_before))
    with pytest.raises(TooManyVotes):
        vote(table, helpful=False, at=START + 1, per_hour=given + 1)
    assert server.calls == ["GetItem", "Query", "BatchWriteItem", "TransactWriteItems", "GetItem"]
    assert outline(DynamoDbFeedback(table), "id_1") == [(True, SESSION, START)]


def test_a_vote_that_others_of_its_session_always_overtake_fails_whole(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    vote(table, helpful=True, per_hour=2)
    read_before = [reply({}), None, None, None]
    server.script.extend(read_before * TRIES_AT_ONCE)
    with pytest.raises(StoreUnavailable):
        vote(table, helpful=False, at=START + 1, per_hour=2)
    assert not server.script
    assert outline(DynamoDbFeedback(table), "id_1") == [(True, SESSION, START)]


def test_a_vote_whose_answer_was_lost_counts_once(server: ScriptedServer, table: DynamoDbTable) -> None:
    vote(table, helpful=False)
    server.script.extend([None, None, refuse("InternalServerError", status=500)])  # botocore sends it again
    vote(table, helpful=False)
    assert outline(DynamoDbFeedback(table), "id_1") == [(False, SESSION, START)]


def test_a_vote_is_written_whole_or_not_at_all(server: ScriptedServer, table: DynamoDbTable) -> None:
    server.script.extend([None, None, *[refuse("InternalServerError", status=500)] * TRIES])
    with pytest.raises(StoreUnavailable):
        vote(table, helpful=False)
    table.reset()  # forgets the outage
    assert DynamoDbFeedback(table).votes_on(["id_1", "id_2"], since=0) == {}
    assert not DynamoDbFeedback(table).recent_negative(KEY, since=0)


def test_what_a_batch_leaves_undone_is_done_next(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float]
) -> None:
    undone = reply(lambda request: {"UnprocessedItems": request["RequestItems"]})
    unread = reply(lambda request: {"Responses": {}, "UnprocessedKeys": request["RequestItems"]})
    server.script.extend([None, undone])
    vote(table, helpful=True)
    server.script.append(unread)
    assert outline(DynamoDbFeedback(table), "id_1") == [(True, SESSION, START)]
    assert sleeps == [PAUSES_S[0]] * 2


def test_without_votes_a_question_costs_one_call(server: ScriptedServer, table: DynamoDbTable) -> None:
    chunk_ids = [f"id_{number}" for number in range(MAX_CHUNK_IDS)]
    assert DynamoDbFeedback(table).votes_on(chunk_ids, since=0) == {}
    assert server.calls == ["BatchGetItem"]


def test_the_actions_that_the_policy_grants_are_those_that_are_used(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    cache, memory, feedback = DynamoDbAnswerCache(table), DynamoDbMemory(table), DynamoDbFeedback(table)
    cache.put(KEY, make_answer(), ttl_s=60)
    cache.get(KEY)
    cache.evict(KEY)
    memory.remember(SESSION, make_turn())
    memory.recall(SESSION, limit=1)
    feedback.record(make_response())
    feedback.response("r1")
    vote(table, helpful=True, per_hour=2)
    vote(table, helpful=True, per_hour=2)
    feedback.votes_on(["id_1"], since=0)
    feedback.recent_negative(KEY, since=0)
    # A transaction has no action of its own: it needs PutItem and DeleteItem.
    assert {f"dynamodb:{call}" for call in server.calls} - {"dynamodb:TransactWriteItems"} == set(IAM_ACTIONS)


def test_items_are_left_to_ttl_in_whole_seconds(server: ScriptedServer, table: DynamoDbTable) -> None:
    vote(table, helpful=False, per_hour=1)
    DynamoDbFeedback(table).record(make_response())
    DynamoDbMemory(table).remember(SESSION, make_turn())
    DynamoDbAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    items = boto3.client("dynamodb", region_name=REGION, endpoint_url=server.url).scan(TableName=table._name)["Items"]
    assert len(items) == 10
    assert all(item["expiresAt"]["N"].isdecimal() for item in items)


def test_the_largest_answer_is_below_dynamodb_s_limit(server: ScriptedServer, table: DynamoDbTable) -> None:
    """moto refuses items over 400 KB, as DynamoDB does."""
    with pytest.raises(StoreUnavailable, match="ValidationException"):
        table.put(Row(Key("answer#x", "answer"), {"body": "x" * 420_000}, int(START) + 60))


def test_one_table_keeps_sessions_answers_and_chunks_of_one_name_apart(table: DynamoDbTable) -> None:
    cache, memory, feedback = DynamoDbAnswerCache(table), DynamoDbMemory(table), DynamoDbFeedback(table)
    response = make_response(KEY, chunk_ids=(KEY,), cache_keys=(KEY,))
    cache.put(KEY, make_answer(), ttl_s=60)
    memory.remember(KEY, make_turn())
    feedback.record(response)
    feedback.vote(response, voter=KEY, helpful=False, at=START)
    cache.evict(KEY)
    assert memory.recall(KEY, limit=9) == (make_turn(),)
    assert feedback.response(KEY) == response
    assert outline(feedback, KEY) == [(False, KEY, START)]
    assert feedback.recent_negative(KEY, since=0)


def test_what_another_release_wrote_is_a_miss(table: DynamoDbTable) -> None:
    table.put(Row(Key(f"answer#{KEY}", "answer"), {"body": '{"format": 99}'}, int(START) + 60))
    assert DynamoDbAnswerCache(table).get(KEY) is None


def test_many_chunks_are_asked_for_in_several_batches(server: ScriptedServer, table: DynamoDbTable) -> None:
    vote(table, helpful=True)
    chunk_ids = [f"other_{number}" for number in range(150)] + ["id_1"]
    assert set(DynamoDbFeedback(table).votes_on(chunk_ids, since=0)) == {"id_1"}
    assert server.calls.count("BatchGetItem") == 2


def test_after_a_reset_the_same_client_makes_new_connections(server: ScriptedServer, table: DynamoDbTable) -> None:
    cache = DynamoDbAnswerCache(table)
    cache.put(KEY, make_answer(), ttl_s=60)
    client, before = table._client._made, server.ports[-1]
    table.reset()
    table.reset()
    assert cache.get(KEY)
    assert table._client._made is client
    assert server.ports[-1] != before


def test_threads_make_one_client_between_them(table: DynamoDbTable) -> None:
    with ThreadPoolExecutor(8) as threads:
        clients = list(threads.map(lambda _: table._client._client(), range(16)))
    assert len({id(client) for client in clients}) == 1


def test_boto3_is_not_imported_before_the_first_call() -> None:
    done = subprocess.run([sys.executable, "-c", NEVER_IMPORTED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
