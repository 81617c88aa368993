"""The stores on each table: one contract on DynamoDB and on SQLite."""

from collections.abc import Callable, Iterator
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
from fakes import FakeClock
from fakes_stores import sqlite_table
from scripted_dynamodb import REGION, ScriptedServer
from store_contract import AnswerCacheContract, FeedbackContract, ForgettingContract, MemoryContract

from rag.adapters import dynamodb as dynamodb_client
from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores import feedback as feedback_module
from rag.adapters.stores.cache import TableAnswerCache
from rag.adapters.stores.feedback import TableFeedback
from rag.adapters.stores.sessions import TableMemory
from rag.adapters.stores.table import Table


@pytest.mark.slow
class InDynamoDb:
    @pytest.fixture
    def table(self, dynamodb_table: DynamoDbTable) -> DynamoDbTable:
        return dynamodb_table

    @pytest.fixture
    def neighbour(self, table: DynamoDbTable) -> DynamoDbTable:
        """Another process's view of the table."""
        return table


class InSqlite:
    @pytest.fixture
    def table(self, tmp_path: Path, clock: FakeClock) -> Iterator[SqliteTable]:
        with sqlite_table(tmp_path / "state" / "store.sqlite3", clock) as table:
            yield table

    @pytest.fixture
    def neighbour(self, tmp_path: Path, clock: FakeClock) -> Iterator[SqliteTable]:
        """Another process's view of the file."""
        with sqlite_table(tmp_path / "state" / "store.sqlite3", clock) as table:
            yield table


@pytest.fixture
def cache(neighbour: Table) -> TableAnswerCache:
    return TableAnswerCache(neighbour)


@pytest.fixture
def memory(neighbour: Table) -> TableMemory:
    return TableMemory(neighbour)


@pytest.fixture
def feedback(neighbour: Table) -> TableFeedback:
    return TableFeedback(neighbour)


@pytest.fixture
def limited(neighbour: Table, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], TableFeedback]:
    # A second try counts once in DynamoDB, by its ClientRequestToken, and twice in moto: a slow machine makes none.
    monkeypatch.setattr(dynamodb_client, "READ_TIMEOUT_S", 60)
    return lambda per_hour: TableFeedback(neighbour, votes_per_hour=per_hour)


class TestAnswerCacheInDynamoDb(InDynamoDb, AnswerCacheContract):
    pass


class TestAnswerCacheInSqlite(InSqlite, AnswerCacheContract):
    pass


class TestMemoryInDynamoDb(InDynamoDb, MemoryContract):
    pass


class TestMemoryInSqlite(InSqlite, MemoryContract):
    pass


class TestFeedbackInDynamoDb(InDynamoDb, FeedbackContract):
    votes_per_chunk, very_many_votes = 12, 15

    @pytest.fixture
    def feedback(self, table: DynamoDbTable, monkeypatch: pytest.MonkeyPatch) -> TableFeedback:
        monkeypatch.setattr(feedback_module, "MAX_VOTES_PER_CHUNK", self.votes_per_chunk)
        monkeypatch.setattr(feedback_module, "MAX_READ_PER_VOTER", self.very_many_votes - 5)
        return TableFeedback(table)


class TestFeedbackInSqlite(InSqlite, FeedbackContract):
    pass


class ForgettingWithCounts(ForgettingContract):
    @pytest.fixture
    def feedback(self, neighbour: Table) -> TableFeedback:
        return TableFeedback(neighbour, votes_per_hour=60)


class TestForgettingInDynamoDb(InDynamoDb, ForgettingWithCounts):
    @pytest.fixture
    def texts(self, server: ScriptedServer, table: DynamoDbTable) -> Callable[[], str]:
        client = boto3.client("dynamodb", region_name=REGION, endpoint_url=server.url)
        return lambda: str(client.scan(TableName=table._name)["Items"])


class TestForgettingInSqlite(InSqlite, ForgettingWithCounts):
    @pytest.fixture
    def texts(self, tmp_path: Path, table: SqliteTable) -> Callable[[], str]:
        """The bytes of the file and its log: what was deleted must not lie there either."""
        with table.reading() as connection:
            connection.execute("PRAGMA secure_delete = OFF")  # as SQLite is, but not in every build
        return lambda: "".join(file.read_bytes().decode("latin-1") for file in (tmp_path / "state").iterdir())
