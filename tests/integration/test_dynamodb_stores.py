"""The stores in DynamoDB: everything that can fail; see ``test_stores`` for the contract."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import run_fresh
from fakes import FakeClock
from scripted_dynamodb import ScriptedServer, StartResponse, Wsgi, conflict, refuse, reply, silence
from store_contract import KEY, SESSION, START, make_answer, make_response, make_turn, outline

from rag.adapters import dynamodb as dynamodb_client
from rag.adapters.dynamodb import IAM_ACTIONS, PAUSES_S, TRIES, DynamoDbTable, marshal_key
from rag.adapters.stores.cache import TableAnswerCache
from rag.adapters.stores.feedback import MAX_TRIES, TableFeedback
from rag.adapters.stores.guard import COOL_OFF_S, StoreGuard
from rag.adapters.stores.layout import vote_count_key
from rag.adapters.stores.sessions import TableMemory
from rag.adapters.stores.table import TableItem, TableKey
from rag.errors import StoreOutOfReach, StoreUnavailable, TooManyVotes
from rag.values.stored import MAX_CHUNK_IDS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("aws_credentials")]

THROTTLED = "ProvisionedThroughputExceededException"

NEVER_IMPORTED = """
import sys
from rag.adapters.stores import cache, feedback, sessions
from rag.adapters.dynamodb import DynamoDbTable
table = DynamoDbTable("a-table")
stores = cache.TableAnswerCache(table), sessions.TableMemory(table), feedback.TableFeedback(table)
table._client.reset()
print([name for name in ("boto3", "botocore") if name in sys.modules])
"""


@pytest.fixture
def table(dynamodb_table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch) -> DynamoDbTable:
    """A new one, whose client does not wait between its tries."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))
    return dynamodb_table


ROW = TableItem(TableKey("a", "b"), {"at": START}, int(START) + 60)
OPERATIONS: Mapping[str, Callable[[DynamoDbTable], object]] = {
    "GetItem": lambda table: TableAnswerCache(table).get(KEY),
    "BatchWriteItem": lambda table: table.put_many([ROW]),
    "TransactWriteItems": lambda table: table.replace_unless_newer(ROW, puts=(), deletes=()),
}
"""For each operation something whose first call it is."""


def vote(table: DynamoDbTable, *, helpful: bool | None, at: float = START, per_hour: int = 0) -> None:
    TableFeedback(table, votes_per_hour=per_hour).vote(make_response(), voter=SESSION, helpful=helpful, at=at)


def test_short_throttling_is_waited_out(server: ScriptedServer, table: DynamoDbTable) -> None:
    server.script.append(refuse(THROTTLED))
    TableAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    assert TableAnswerCache(table).get(KEY)
    assert server.calls == ["PutItem", "PutItem", "GetItem"]


def throttled_inside() -> Wsgi:
    """A step: a transaction that was cancelled because an item of it was asked for too much."""
    reasons = [{"Code": "None"}, {"Code": "ThrottlingError"}]
    return refuse("TransactionCanceledException", CancellationReasons=reasons)


def never_done() -> Wsgi:
    """A step: of a batch nothing was done."""
    return reply(lambda request: {"Responses": {}, "UnprocessedItems": request["RequestItems"]})


@pytest.mark.parametrize(
    ("operation", "steps", "code"),
    [
        ("GetItem", [refuse(THROTTLED)] * TRIES, THROTTLED),
        ("GetItem", [refuse("RequestLimitExceeded")] * TRIES, "RequestLimitExceeded"),
        ("TransactWriteItems", [refuse(THROTTLED)] * TRIES, THROTTLED),
        ("TransactWriteItems", [throttled_inside()], "TransactionCanceledException"),
        ("BatchWriteItem", [never_done()] * (len(PAUSES_S) + 1), "throttled"),
    ],
)
def test_lasting_throttling_is_an_error_of_ours_and_no_question_asks_for_a_while(
    server: ScriptedServer,
    table: DynamoDbTable,
    guard: StoreGuard,
    clock: FakeClock,
    operation: str,
    steps: list[Wsgi],
    code: str,
) -> None:
    """Else each stage of each question would wait for its tries."""
    server.script.extend(steps)
    with guard.question():
        with pytest.raises(StoreUnavailable, match=code) as caught:
            guard.write(lambda: OPERATIONS[operation](table))
        assert "vendor" not in str(caught.value)
        with pytest.raises(StoreUnavailable, match="not tried"):
            TableMemory(table, guard).recall(SESSION, limit=1)
        assert server.calls == [operation] * len(steps)
        clock.now += COOL_OFF_S + 1
        assert TableAnswerCache(table, guard).get(KEY) is None


def test_what_no_retry_helps_is_said_at_once(server: ScriptedServer, table: DynamoDbTable) -> None:
    server.script.append(refuse("AccessDeniedException"))
    with pytest.raises(StoreUnavailable, match="AccessDeniedException") as caught:
        TableAnswerCache(table).get(KEY)
    assert not isinstance(caught.value, StoreOutOfReach)
    assert server.calls == ["GetItem"]


def test_after_an_outage_no_question_asks_for_a_while_and_a_vote_does(
    server: ScriptedServer, table: DynamoDbTable, guard: StoreGuard, clock: FakeClock
) -> None:
    cache = TableAnswerCache(table, guard)
    server.script.extend([refuse("InternalServerError", status=500)] * TRIES)
    with guard.question():
        with pytest.raises(StoreOutOfReach, match="InternalServerError"):
            cache.get(KEY)
        clock.now += COOL_OFF_S - 1
        with pytest.raises(StoreUnavailable, match="not tried"):
            cache.get(KEY)
    assert len(server.calls) == TRIES
    feedback = TableFeedback(table, guard)
    feedback.vote(make_response(), voter=SESSION, helpful=False, at=START)
    assert outline(feedback, "id_1") == [(False, SESSION, START)]
    with guard.question():
        assert cache.get(KEY) is None


def test_a_server_that_is_silent_is_given_up(
    server: ScriptedServer, table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamodb_client, "READ_TIMEOUT_S", 0.1)
    released = threading.Event()
    server.script.extend([silence(released)] * TRIES)
    try:
        with pytest.raises(StoreOutOfReach, match="ReadTimeoutError"):
            TableAnswerCache(table).get(KEY)
    finally:
        released.set()
    assert server.calls == ["GetItem"] * TRIES


@pytest.mark.parametrize(
    ("endpoint_url", "unset", "told"),
    [
        (None, ["AWS_DEFAULT_REGION"], "DynamoDB client"),
        ("not a url", [], "DynamoDB client"),
        ("http://127.0.0.1:9", [], "EndpointConnectionError"),
        ("http://127.0.0.1:9", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], "NoCredentialsError"),
    ],
    ids=["no region", "no endpoint", "nobody there", "no credentials"],
)
def test_a_table_that_cannot_be_called_is_an_error_of_ours(
    endpoint_url: str | None, unset: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in unset:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    with pytest.raises(StoreUnavailable, match=told):
        TableAnswerCache(DynamoDbTable("table", endpoint_url=endpoint_url)).get(KEY)


def test_a_vote_that_meets_another_transaction_is_tried_again(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float]
) -> None:
    server.script.extend([None, None, conflict(), conflict()])
    vote(table, helpful=False)
    assert sleeps == list(PAUSES_S[:2])
    assert outline(TableFeedback(table), "id_1") == [(False, SESSION, START)]


@pytest.mark.parametrize(
    ("steps", "pauses"),
    [
        ([conflict()] * (len(PAUSES_S) + 1), list(PAUSES_S)),
        ([throttled_inside()], []),  # not taken for an old vote
        ([refuse("InternalServerError", status=500)] * TRIES, []),
    ],
    ids=["it always meets others", "throttled", "out of order"],
)
def test_a_vote_that_fails_fails_whole(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float], steps: list[Wsgi], pauses: list[float]
) -> None:
    server.script.extend([None, None, *steps])
    with pytest.raises(StoreUnavailable):
        vote(table, helpful=False)
    assert (sleeps, len(server.calls)) == (pauses, 2 + len(steps))
    assert TableFeedback(table).votes_on(["id_1", "id_2"], since=0) == {}
    assert not TableFeedback(table).recent_negative(KEY, since=0)


def test_a_newer_vote_that_wins_the_race_stands(server: ScriptedServer, table: DynamoDbTable) -> None:
    old = refuse("TransactionCanceledException", CancellationReasons=[{"Code": "ConditionalCheckFailed"}])

    def overtaken(environ: dict[str, Any], start_response: StartResponse) -> Any:
        vote(table, helpful=True, at=START + 1)
        return old(environ, start_response)

    server.script.extend([None, None, overtaken])
    vote(table, helpful=False, at=START)
    assert outline(TableFeedback(table), "id_1") == [(True, SESSION, START + 1)]


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
    count = table._client.client().get_item(TableName=table._name, Key=marshal_key(vote_count_key(SESSION)))
    read_before = {"Item": count["Item"]} if given else {}
    vote(table, helpful=True, per_hour=given + 1)
    server.calls.clear()
    server.script.append(reply(read_before))
    with pytest.raises(TooManyVotes):
        vote(table, helpful=False, at=START + 1, per_hour=given + 1)
    assert server.calls == ["GetItem", "Query", "BatchWriteItem", "TransactWriteItems", "GetItem"]
    assert outline(TableFeedback(table), "id_1") == [(True, SESSION, START)]


def test_a_vote_that_others_of_its_session_always_overtake_fails_whole(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    vote(table, helpful=True, per_hour=2)
    server.script.extend([reply({}), None, None, None] * MAX_TRIES)  # the count as it was read before
    with pytest.raises(StoreUnavailable):
        vote(table, helpful=False, at=START + 1, per_hour=2)
    assert not server.script
    assert outline(TableFeedback(table), "id_1") == [(True, SESSION, START)]


def test_a_vote_whose_answer_was_lost_counts_once(server: ScriptedServer, table: DynamoDbTable) -> None:
    vote(table, helpful=False)
    server.script.extend([None, None, refuse("InternalServerError", status=500)])  # botocore sends it again
    vote(table, helpful=False)
    assert outline(TableFeedback(table), "id_1") == [(False, SESSION, START)]


def test_what_a_batch_leaves_undone_is_done_next(
    server: ScriptedServer, table: DynamoDbTable, sleeps: list[float]
) -> None:
    undone = reply(lambda request: {"UnprocessedItems": request["RequestItems"]})
    unread = reply(lambda request: {"Responses": {}, "UnprocessedKeys": request["RequestItems"]})
    server.script.extend([None, undone])
    vote(table, helpful=True)
    server.script.append(unread)
    assert outline(TableFeedback(table), "id_1") == [(True, SESSION, START)]
    assert sleeps == [PAUSES_S[0]] * 2


def test_without_votes_a_question_costs_one_call_and_many_chunks_several(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    chunk_ids = [f"other_{number}" for number in range(150)] + ["id_1"]
    assert TableFeedback(table).votes_on(chunk_ids[:MAX_CHUNK_IDS], since=0) == {}
    assert server.calls == ["BatchGetItem"]
    vote(table, helpful=True)
    assert set(TableFeedback(table).votes_on(chunk_ids, since=0)) == {"id_1"}
    assert server.calls.count("BatchGetItem") == 3


def test_the_actions_that_the_policy_grants_are_those_that_are_used(
    server: ScriptedServer, table: DynamoDbTable
) -> None:
    cache, memory, feedback = TableAnswerCache(table), TableMemory(table), TableFeedback(table)
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


def test_items_are_left_to_ttl_in_whole_seconds(table: DynamoDbTable) -> None:
    vote(table, helpful=False, per_hour=1)
    TableFeedback(table).record(make_response())
    TableMemory(table).remember(SESSION, make_turn())
    TableAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    items = table._client.client().scan(TableName=table._name)["Items"]
    assert [item["expiresAt"]["N"].isdecimal() for item in items] == [True] * 10


def test_one_table_keeps_sessions_answers_and_chunks_of_one_name_apart(table: DynamoDbTable) -> None:
    cache, memory, feedback = TableAnswerCache(table), TableMemory(table), TableFeedback(table)
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


def test_after_a_reset_the_same_client_makes_new_connections(server: ScriptedServer, table: DynamoDbTable) -> None:
    cache = TableAnswerCache(table)
    cache.put(KEY, make_answer(), ttl_s=60)
    client, before = table._client._boto_client, server.ports[-1]
    table._client.reset()
    table._client.reset()
    assert cache.get(KEY)
    assert table._client._boto_client is client
    assert server.ports[-1] != before


def test_threads_make_one_client_between_them(table: DynamoDbTable) -> None:
    with ThreadPoolExecutor(8) as threads:
        clients = list(threads.map(lambda _: table._client.client(), range(16)))
    assert len({id(client) for client in clients}) == 1


def test_boto3_is_not_imported_before_the_first_call() -> None:
    assert run_fresh(NEVER_IMPORTED) == "[]\n"
