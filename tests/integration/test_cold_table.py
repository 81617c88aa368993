"""One table for many environments: what a first question costs, whom the client trusts, and clocks that differ.

The cost is counted, not timed: bundles parsed and connections opened.
"""

import copy
import ssl
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClock
from fakes_dynamodb import empty_table, prompt
from store_contract import KEY, SESSION, START, make_answer, make_turn
from web_server import self_signed

from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.stores.cache import MAX_AGE_S, LayeredCache, TableAnswerCache
from rag.adapters.stores.sessions import TableMemory
from rag.config.settings import Settings, load
from rag.errors import StoreOutOfReach
from rag.wiring.stores import OpenStores, build_stores

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("aws_credentials")]

ENVIRONMENTS = 20
HOUR_S = 3600


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the certificate that the client is told to trust."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "server.pem"))
    return tmp_path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The bundles that were parsed."""
    found: list[object] = []
    load_locations = ssl.SSLContext.load_verify_locations

    def noted(context: ssl.SSLContext, cafile: Any = None, *rest: Any, **named: Any) -> None:
        found.append(cafile)
        load_locations(context, cafile, *rest, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", noted)
    return found


def before_a_snapshot(url: str) -> OpenStores:
    made = build_stores(load(Settings, {"TABLE_NAME": "rag", "TABLE_ENDPOINT": url, "STORE_WAIT_S": "60"}))
    assert made is not None
    made.warm()
    return made


def test_the_first_question_of_no_environment_parses_a_bundle_or_opens_a_connection(
    trusted: Path, parsed: list[object]
) -> None:
    with empty_table(prompt, tls=self_signed(trusted, "localhost")) as table:
        made = before_a_snapshot(table.url)
        assert (parsed, table.connections) == ([str(trusted / "server.pem")], 0)
        for restored in range(1, ENVIRONMENTS + 1):
            table.calls.clear()
            made.renew()
            with made.guard.question():
                assert made.memory.recall("s" * 22, limit=5) == ()
                assert made.cache.get("key") is None
            assert table.calls == ["GetItem", "Query", "GetItem"], "the first is that of the restore"
            assert (len(parsed), table.connections) == (1, restored), "once in all, and one a restore"


@pytest.mark.parametrize("fault", ["another one", "another host's"])
def test_a_certificate_that_is_not_the_table_s_is_refused(trusted: Path, fault: str) -> None:
    shown = self_signed(trusted, "localhost" if fault == "another one" else "example.org")
    if fault == "another one":
        self_signed(trusted, "localhost")
    with empty_table(prompt, tls=shown) as table:
        made = before_a_snapshot(table.url)
        made.renew()
        with pytest.raises(StoreOutOfReach):
            made.memory.recall("s" * 22, limit=5)
        assert table.calls == []


@pytest.fixture
def ahead(dynamodb_table: DynamoDbTable) -> DynamoDbTable:
    """The same table for a process whose clock is an hour ahead."""
    other = copy.copy(dynamodb_table)
    other.clock = FakeClock(now=START + HOUR_S)
    return other


def test_an_answer_outlives_its_time_by_no_more_than_the_clocks_differ(
    dynamodb_table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    TableAnswerCache(dynamodb_table).put(KEY, make_answer(), ttl_s=60)
    assert TableAnswerCache(ahead).get(KEY) is None
    TableAnswerCache(ahead).put(KEY, make_answer(), ttl_s=60)
    clock.now = START + HOUR_S + 60
    assert TableAnswerCache(dynamodb_table).get(KEY)
    clock.now += 1
    assert TableAnswerCache(dynamodb_table).get(KEY) is None


def test_a_process_asks_again_for_an_answer_of_the_future_after_a_minute(
    dynamodb_table: DynamoDbTable, ahead: DynamoDbTable, clock: FakeClock
) -> None:
    """So that one that was evicted elsewhere is gone here too."""
    cache = LayeredCache(TableAnswerCache(dynamodb_table), clock=clock)
    TableAnswerCache(ahead).put(KEY, make_answer(), ttl_s=HOUR_S)
    assert cache.get(KEY)
    TableAnswerCache(ahead).evict(KEY)
    assert cache.get(KEY)
    clock.now += MAX_AGE_S
    assert cache.get(KEY) is None


def test_after_a_clock_is_set_back_an_answer_is_asked_for_again(
    dynamodb_table: DynamoDbTable, clock: FakeClock
) -> None:
    cache = LayeredCache(TableAnswerCache(dynamodb_table), clock=clock)
    cache.put(KEY, make_answer(), ttl_s=HOUR_S)
    TableAnswerCache(dynamodb_table).evict(KEY)
    clock.now -= HOUR_S
    assert cache.get(KEY) is None


def test_no_turn_is_lost_between_clocks_and_their_order_is_that_of_the_clocks(
    dynamodb_table: DynamoDbTable, ahead: DynamoDbTable
) -> None:
    TableMemory(ahead).remember(SESSION, make_turn(HOUR_S))
    TableMemory(dynamodb_table).remember(SESSION, make_turn(1))
    for one in (dynamodb_table, ahead):
        assert TableMemory(one).recall(SESSION, limit=5) == (make_turn(1), make_turn(HOUR_S))
