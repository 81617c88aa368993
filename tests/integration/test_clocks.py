"""Processes whose clocks differ by an hour, on one DynamoDB table."""

from __future__ import annotations

from collections.abc import Iterator

import boto3  # type: ignore[import-untyped, unused-ignore]
import pytest
from fakes import FakeClock
from moto import mock_aws
from store_contract import KEY, SESSION, START, make_answer, make_turn

from rag.adapters.dynamodb.cache import DynamoDbAnswerCache
from rag.adapters.dynamodb.memory import DynamoDbMemory
from rag.adapters.dynamodb.table import DynamoDbTable
from rag.adapters.layered_cache import MAX_AGE_S, LayeredCache

pytestmark = pytest.mark.slow

HOUR_S = 3600
REGION = "eu-central-1"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now=START)


@pytest.fixture
def table(clock: FakeClock) -> Iterator[DynamoDbTable]:
    with mock_aws():
        boto3.client("dynamodb", region_name=REGION).create_table(
            TableName="table",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        )
        yield DynamoDbTable("table", region=REGION, clock=clock)


@pytest.fixture
def ahead(table: DynamoDbTable) -> DynamoDbTable:
    """The same table for a process whose clock is an hour ahead."""
    return DynamoDbTable("table", region=REGION, clock=FakeClock(now=START + HOUR_S))


def test_an_answer_outlives_its_time_by_no_more_than_the_clocks_differ(
    table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    DynamoDbAnswerCache(table).put(KEY, make_answer(), ttl_s=60)
    assert DynamoDbAnswerCache(ahead).get(KEY) is None
    DynamoDbAnswerCache(ahead).put(KEY, make_answer(), ttl_s=60)
    clock.now = START + HOUR_S + 60
    assert DynamoDbAnswerCache(table).get(KEY)
    clock.now += 1
    assert DynamoDbAnswerCache(table).get(KEY) is None


def test_a_process_asks_again_for_an_answer_of_the_future_after_a_minute(
    table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    """So that one that was evicted elsewhere is gone here too."""
    cache = LayeredCache(DynamoDbAnswerCache(table), clock=clock)
    DynamoDbAnswerCache(ahead).put(KEY, make_answer(), ttl_s=HOUR_S)
    assert cache.get(KEY)
    DynamoDbAnswerCache(ahead).evict(KEY)
    assert cache.get(KEY)
    clock.now += MAX_AGE_S
    assert cache.get(KEY) is None


def test_after_a_clock_is_set_back_an_answer_is_asked_for_again(table: DynamoDbTable, clock: FakeClock) -> None:
    cache = LayeredCache(DynamoDbAnswerCache(table), clock=clock)
    cache.put(KEY, make_answer(), ttl_s=HOUR_S)
    DynamoDbAnswerCache(table).evict(KEY)
    clock.now -= HOUR_S
    assert cache.get(KEY) is None


def test_no_turn_is_lost_between_clocks_and_their_order_is_that_of_the_clocks(
    table: DynamoDbTable, ahead: DynamoDbTable
) -> None:
    DynamoDbMemory(ahead).remember(SESSION, make_turn(HOUR_S))
    DynamoDbMemory(table).remember(SESSION, make_turn(1))
    for one in (table, ahead):
        assert DynamoDbMemory(one).recall(SESSION, limit=5) == (make_turn(1), make_turn(HOUR_S))
