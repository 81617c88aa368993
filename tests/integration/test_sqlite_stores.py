"""The stores in a SQLite file: its privacy, its replacement, and several processes on one new file."""

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from command_line import run_fresh
from fakes import FakeClock
from fakes_stores import sqlite_table
from store_contract import KEY, OTHER_KEY, SESSION, START, cached_text, make_answer, make_response, make_turn, outline

from rag.adapters import sqlite as sqlite_module
from rag.adapters.sqlite import BUSY_TIMEOUT_S, SCHEMA_VERSION, WRITES_BETWEEN_SWEEPS, SqliteTable, find_exposed
from rag.adapters.stores.cache import TableAnswerCache
from rag.adapters.stores.feedback import TableFeedback
from rag.adapters.stores.guard import VOTE_BUDGET_S, StoreGuard
from rag.adapters.stores.sessions import TableMemory
from rag.errors import StoreUnavailable
from rag.values.stored import MAX_TURNS, RESPONSE_TTL_S, TURN_TTL_S, VOTE_TTL_S

PROCESSES, TURNS_EACH = 3, 12

WRITER = """
import sys, time
from pathlib import Path
from store_contract import KEY, SESSION, START, make_answer, make_response, make_turn
from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores.cache import TableAnswerCache
from rag.adapters.stores.feedback import TableFeedback
from rag.adapters.stores.sessions import TableMemory

path, me, turns_each, processes = Path(sys.argv[1]), *map(int, sys.argv[2:])
database = SqliteTable(path)
memory, feedback, cache = TableMemory(database), TableFeedback(database), TableAnswerCache(database)
place = path.parents[1]
(place / f"ready-{me}").touch()
late = time.monotonic() + 300
while len(list(place.glob("ready-*"))) < processes and time.monotonic() < late:
    time.sleep(0.001)
for number in range(turns_each):
    memory.remember(SESSION, make_turn(number * processes + me))
    memory.remember(f"{SESSION}-{me}", make_turn(number))
    feedback.vote(make_response(f"r{me}"), voter=f"v{me}", helpful=number % 2 == 1, at=START + number)
    cache.put(KEY, make_answer(str(me)), ttl_s=60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.sqlite3"


@pytest.fixture
def database(path: Path, clock: FakeClock) -> Iterator[SqliteTable]:
    with sqlite_table(path, clock) as database:
        yield database


@pytest.fixture
def neighbour(path: Path, clock: FakeClock) -> Iterator[SqliteTable]:
    """Another process's view of the same file."""
    with sqlite_table(path, clock) as database:
        yield database


@pytest.mark.slow
def test_processes_share_a_file_from_its_first_moment_on(path: Path, database: SqliteTable, clock: FakeClock) -> None:
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda me: run_fresh(WRITER, path, me, TURNS_EACH, PROCESSES), range(PROCESSES)))
    clock.now = time.time()  # as theirs
    memory, feedback = TableMemory(database), TableFeedback(database)
    assert memory.recall(SESSION, limit=MAX_TURNS) == tuple(make_turn(n) for n in range(PROCESSES * TURNS_EACH))
    for me in range(PROCESSES):
        assert memory.recall(f"{SESSION}-{me}", limit=50) == tuple(make_turn(n) for n in range(TURNS_EACH))
    assert sorted(voter for _, voter, _ in outline(feedback, "id_1")) == [f"v{me}" for me in range(PROCESSES)]
    assert TableAnswerCache(database).get(KEY)


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_nobody_else_may_read_the_files(path: Path, database: SqliteTable, umask: int) -> None:
    before = os.umask(umask)
    try:
        with database.writing():
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
        database.renew()
        with closing(sqlite3.connect(path, isolation_level=None)) as plain:
            plain.execute("PRAGMA journal_mode = DELETE")
            plain.execute("BEGIN IMMEDIATE")
            plain.execute("DELETE FROM items")
            plain.execute("INSERT INTO items VALUES ('k', 'a', '{}', 0)")
            modes |= {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
            plain.execute("ROLLBACK")
    finally:
        os.umask(before)
    assert modes == dict.fromkeys([f"store.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal")], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("ending", "mode"),
    [("", 0o640), ("", 0o604), ("", 0o620), ("", 0o602), ("-wal", 0o640), ("-shm", 0o640), ("-journal", 0o640)],
)
def test_files_that_others_may_read_or_write_are_refused_until_they_may_not(
    path: Path, database: SqliteTable, ending: str, mode: int
) -> None:
    memory = TableMemory(database)
    memory.remember(SESSION, make_turn())
    database.renew()
    exposed = path.with_name(path.name + ending)
    exposed.touch()
    exposed.chmod(mode)
    assert find_exposed(path) == exposed
    with pytest.raises(StoreUnavailable, match=f"others may read or write 'store.sqlite3{ending}': chmod 600"):
        memory.recall(SESSION, limit=1)
    exposed.chmod(0o600)
    assert find_exposed(path) is None
    assert memory.recall(SESSION, limit=1) == (make_turn(),)


def test_readers_do_not_wait_for_a_writer(
    database: SqliteTable, neighbour: SqliteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 0.0)
    cache = TableAnswerCache(database)
    cache.put(KEY, make_answer(), ttl_s=60)
    with neighbour.writing() as connection:
        connection.execute("DELETE FROM items")
        assert cache.get(KEY)
    assert cache.get(KEY) is None


def test_a_writer_that_waited_too_long_says_so(
    database: SqliteTable, neighbour: SqliteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 0.05)
    cache = TableAnswerCache(database)
    cache.put(KEY, make_answer("old"), ttl_s=60)
    with neighbour.writing(), pytest.raises(StoreUnavailable, match="locked"):
        cache.put(KEY, make_answer("new"), ttl_s=60)
    assert cached_text(cache) == "old"


def test_a_vote_s_calls_wait_for_others_only_while_it_has_time(
    database: SqliteTable, guard: StoreGuard, clock: FakeClock
) -> None:
    def waits_s(takes_s: float) -> float:
        with database.reading() as connection:
            clock.now += takes_s
            timeout_ms: int = connection.execute("PRAGMA busy_timeout").fetchone()[0]
        return timeout_ms / 1000

    with guard.vote():
        assert guard.read(lambda: waits_s(VOTE_BUDGET_S - 2)) == BUSY_TIMEOUT_S
        assert guard.write(lambda: waits_s(2)) == 2
        with pytest.raises(StoreUnavailable, match="time for stores is spent"):
            guard.write(lambda: waits_s(0))
    assert waits_s(0) == BUSY_TIMEOUT_S
    with guard.question():
        assert guard.read(lambda: waits_s(0)) == BUSY_TIMEOUT_S


def test_a_vote_waits_for_other_calls_only_while_it_has_time(
    database: SqliteTable, guard: StoreGuard, clock: FakeClock
) -> None:
    def late() -> None:
        clock.now += VOTE_BUDGET_S
        TableFeedback(database).vote(make_response(), voter=SESSION, helpful=False, at=START)

    with database.reading(), guard.vote(), pytest.raises(StoreUnavailable, match="other calls wait for it"):
        guard.write(late)


@pytest.mark.parametrize("deleted", ["file", "files", "folder"])
def test_a_file_that_was_deleted_is_made_anew(
    path: Path, database: SqliteTable, neighbour: SqliteTable, deleted: str
) -> None:
    memory, theirs = TableMemory(database), TableMemory(neighbour)
    memory.remember(SESSION, make_turn(0))
    assert theirs.recall(SESSION, limit=5) == (make_turn(0),)
    if deleted == "folder":
        shutil.rmtree(path.parent)
    else:
        for file in list(path.parent.iterdir()) if deleted == "files" else [path]:
            file.unlink()
    assert memory.recall(SESSION, limit=5) == ()
    for number in range(1, 5, 2):
        memory.remember(SESSION, make_turn(number))
        theirs.remember(SESSION, make_turn(number + 1))
    neighbour.renew()
    assert memory.recall(SESSION, limit=5) == tuple(make_turn(number) for number in range(1, 5))
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    database.renew()
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert plain.execute("SELECT count(*) FROM items").fetchone() == (4,)


def test_a_file_that_another_took_the_place_of_is_left_for_it(
    path: Path, tmp_path: Path, database: SqliteTable
) -> None:
    with sqlite_table(tmp_path / "copy.sqlite3", database.clock) as copy:
        TableMemory(copy).remember(SESSION, make_turn(7))
    memory = TableMemory(database)
    memory.remember(SESSION, make_turn(0))
    for file in path.parent.iterdir():
        file.unlink()
    (tmp_path / "copy.sqlite3").rename(path)
    assert memory.recall(SESSION, limit=5) == (make_turn(7),)


def test_a_vote_that_fails_half_way_leaves_nothing(database: SqliteTable) -> None:
    feedback = TableFeedback(database)
    with database.writing() as connection:
        connection.execute(
            "CREATE TRIGGER half_way BEFORE INSERT ON items WHEN NEW.pk LIKE 'bar#%'"
            " BEGIN SELECT RAISE(ABORT, 'scripted'); END"
        )
    with pytest.raises(StoreUnavailable, match="scripted"):
        feedback.vote(make_response(), voter=SESSION, helpful=False, at=START)
    assert feedback.votes_on(["id_1"], since=0) == {}
    assert not feedback.recent_negative(KEY, since=0)


def test_expired_rows_are_swept_and_the_others_stay(database: SqliteTable, clock: FakeClock) -> None:
    cache, feedback = TableAnswerCache(database), TableFeedback(database, votes_per_hour=1)
    cache.put(KEY, make_answer(), ttl_s=60)
    TableMemory(database).remember(SESSION, make_turn())
    feedback.record(make_response())
    feedback.vote(make_response(), voter=SESSION, helpful=True, at=START)
    clock.now += max(60, TURN_TTL_S, RESPONSE_TTL_S, VOTE_TTL_S) + 1
    for _ in range(WRITES_BETWEEN_SWEEPS):
        cache.put(OTHER_KEY, make_answer(), ttl_s=60)
    with database.reading() as connection:
        assert connection.execute("SELECT DISTINCT pk FROM items").fetchall() == [(f"answer#{OTHER_KEY}",)]


def test_a_comment_is_kept_with_its_vote(database: SqliteTable) -> None:
    TableFeedback(database).vote(make_response(), voter=SESSION, helpful=False, at=START, comment="c" * 3_000)
    with database.reading() as connection:
        (comment,) = connection.execute(
            "SELECT json_extract(attributes, '$.comment') FROM items WHERE pk LIKE 'voter#%'"
        ).fetchone()
    assert comment == "c" * 1_999 + "…"


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_file_of_another_schema_is_left_alone(path: Path, database: SqliteTable, version: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    path.chmod(0o600)
    with pytest.raises(StoreUnavailable, match=f"has schema {version}, .*: delete it"):
        TableMemory(database).recall(SESSION, limit=1)


def test_a_file_that_is_no_database_is_an_error_of_ours(path: Path, database: SqliteTable) -> None:
    path.parent.mkdir()
    path.write_text("not a database, and long enough to be looked at " * 100)
    path.chmod(0o600)
    with pytest.raises(StoreUnavailable, match=r"store\.sqlite3"):
        TableAnswerCache(database).get(KEY)


def test_a_place_where_no_file_can_be_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable):
        TableAnswerCache(SqliteTable(tmp_path / "file" / "store.sqlite3")).get(KEY)
