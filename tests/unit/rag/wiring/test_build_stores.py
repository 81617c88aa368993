"""rag.wiring.stores: which stores the settings name."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from store_contract import make_answer

from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.sqlite import SqliteTable
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.values.question import Turn
from rag.wiring.stores import OpenStores, build_stores

type Make = Callable[..., OpenStores]
SESSION, TURN = "s" * 22, Turn(question="q", answer="a", at=1.0)


@pytest.fixture
def stores() -> Iterator[Make]:
    """Stores for settings; their connections end with the test."""
    with ExitStack() as ending:

        def make(**env: str) -> OpenStores:
            made = build_stores(load(Settings, env))
            assert made is not None
            ending.callback(made.renew)
            return made

        yield make


def test_a_path_is_a_file_that_is_made_on_first_use(stores: Make, tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "s.sqlite"
    made = stores(STORE_PATH=str(path))
    made.warm()
    assert isinstance(made.table, SqliteTable)
    assert not path.exists()
    made.memory.remember(SESSION, TURN)
    assert path.is_file()
    assert [turn.answer for turn in stores(STORE_PATH=str(path)).memory.recall(SESSION, limit=5)] == ["a"]


def test_a_file_that_others_may_read_is_refused_at_the_start(stores: Make, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch(0o600)
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match=f"^STORE_PATH: others than .*{path}, .*Run: chmod 600 {path}$"):
        stores(STORE_PATH=str(path))
    path.chmod(0o600)
    assert stores(STORE_PATH=str(path)).memory.recall(SESSION, limit=5) == ()


def test_a_table_comes_before_a_path_and_without_either_there_are_no_stores(stores: Make, tmp_path: Path) -> None:
    made = stores(TABLE_NAME="rag", STORE_PATH=str(tmp_path / "s.sqlite"))
    assert isinstance(made.table, DynamoDbTable)
    assert build_stores(load(Settings, {})) is None


def test_renewing_forgets_what_this_process_cached_drops_the_connection_and_loses_nothing(
    stores: Make, tmp_path: Path
) -> None:
    made = stores(STORE_PATH=str(tmp_path / "s.sqlite"))
    made.memory.remember(SESSION, TURN)
    made.cache.put("k", make_answer(), ttl_s=100.0)
    assert [hit.layer for hit in (made.cache.get("k"),) if hit] == ["l1"]
    assert isinstance(made.table, SqliteTable)
    with made.table.reading() as connection:
        pass
    made.renew()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    assert [hit.layer for hit in (made.cache.get("k"), made.cache.get("k")) if hit] == ["l2", "l1"]
    assert [turn.answer for turn in made.memory.recall(SESSION, limit=5)] == ["a"]
