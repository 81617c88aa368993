"""One SQLite file that the local server and ``ragctl`` share: how it is made, opened, and kept small.

Each process keeps one connection, made on first use, which its threads use in turn. (With one for each operation
SQLite would throw away and rebuild the log's index each time: measured, 10-30 ms a write, not .1.)
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.adapters.sqlite.files import Identity, exposed, identity, make_private
from rag.adapters.store_guard import patience_s
from rag.errors import StoreUnavailable

SCHEMA_VERSION = 4
BUSY_TIMEOUT_S = 5.0
"""A call waits no longer than this for others; a vote's no longer than it has time either."""
WRITES_BETWEEN_SWEEPS = 200

TABLES = ("answers", "turns", "responses", "votes", "vote_counts")
"""Every one has ``expires_at``, in Unix seconds."""


SCHEMA = """
CREATE TABLE answers (key TEXT PRIMARY KEY, body TEXT NOT NULL, expires_at INTEGER NOT NULL);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX turns_of_session ON turns (session, at, id);
CREATE TABLE responses (id TEXT PRIMARY KEY, body TEXT NOT NULL, expires_at INTEGER NOT NULL);
CREATE TABLE votes (
    id INTEGER PRIMARY KEY, response TEXT NOT NULL, response_at REAL NOT NULL, question TEXT NOT NULL,
    vector BLOB NOT NULL, voter TEXT NOT NULL, helpful INTEGER, comment TEXT, at REAL NOT NULL,
    expires_at INTEGER NOT NULL, UNIQUE (response, voter)
);
CREATE TABLE vote_chunks (
    chunk TEXT NOT NULL, vote INTEGER NOT NULL REFERENCES votes (id) ON DELETE CASCADE, PRIMARY KEY (chunk, vote)
) WITHOUT ROWID;
CREATE INDEX chunks_of_vote ON vote_chunks (vote);
CREATE TABLE vote_keys (
    cache_key TEXT NOT NULL, vote INTEGER NOT NULL REFERENCES votes (id) ON DELETE CASCADE,
    PRIMARY KEY (cache_key, vote)
) WITHOUT ROWID;
CREATE INDEX keys_of_vote ON vote_keys (vote);
CREATE INDEX votes_of_voter ON votes (voter);
CREATE TABLE counting_votes (
    chunk TEXT NOT NULL, response_at REAL NOT NULL, vote INTEGER NOT NULL REFERENCES votes (id) ON DELETE CASCADE,
    helpful INTEGER NOT NULL, at REAL NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (chunk, response_at, vote)
) WITHOUT ROWID;
CREATE INDEX chunks_of_counting_vote ON counting_votes (vote);
CREATE TABLE vote_counts (session TEXT PRIMARY KEY, given INTEGER NOT NULL, expires_at INTEGER NOT NULL)
"""
"""Votes are read from ``counting_votes``: each chunk's standing votes, the newest of each voter, in the order of use.
(To work that out of all votes when they are read took 9 ms with a thousand of them.) ``vote_counts`` holds how many
votes came from a session within its hour."""


class SqliteDatabase:
    """The file at ``path``, made on first use and readable by its owner only. ``clock`` gives Unix seconds."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: Identity | None = None
        self._writes = itertools.count()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone.

        Raises:
            StoreUnavailable: the file cannot be made or read, or another release made it.
        """
        with self._locked(), self._translated():
            yield self._connected()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction that nobody else writes beside; it is undone if the block raises.

        Raises:
            StoreUnavailable: see ``reading``, or others wrote for longer than the busy timeout.
        """
        with self._locked(), self._translated():
            connection = self._connected()
            with _transaction(connection):
                yield connection
            if next(self._writes) % WRITES_BETWEEN_SWEEPS == 0:
                self._sweep(connection)

    def exposed(self) -> Path | None:
        """A file of this database that others than its owner may read or write; None where there is none."""
        return exposed(self._path)

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection and self._file != identity(self._path):  # somebody deleted or replaced it
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = self._open()
        self._connection.execute(f"PRAGMA busy_timeout = {1000 * patience_s(BUSY_TIMEOUT_S):.0f}")
        return self._connection

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The connection is this thread's: those before it may each have waited for another process."""
        if not self._lock.acquire(timeout=patience_s(threading.TIMEOUT_MAX)):
            raise StoreUnavailable(f"SQLite store {self._path.name!r}: other calls wait for it")
        try:
            yield
        finally:
            self._lock.release()

    def _sweep(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            for table in TABLES:
                connection.execute(f"DELETE FROM {table} WHERE expires_at <= ?", (self.clock(),))  # noqa: S608 - ours

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            raise StoreUnavailable(f"SQLite store {self._path.name!r}: {exc}") from exc

    def _open(self) -> sqlite3.Connection:
        if not self._path.exists():
            make_private(self._path)
        if bare := self.exposed():
            raise StoreUnavailable(f"SQLite store: others may read or write {bare.name!r}: chmod 600")
        self._file = identity(self._path)
        connection = sqlite3.connect(
            self._path, timeout=patience_s(BUSY_TIMEOUT_S), isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if _version(connection) == 0:
            self._create(connection)
        if (version := _version(connection)) != SCHEMA_VERSION:
            raise StoreUnavailable(
                f"SQLite store {self._path.name!r} has schema {version}, this release has {SCHEMA_VERSION}: delete it"
            )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")  # with WAL a crash of the process loses nothing

    def _create(self, connection: sqlite3.Connection) -> None:
        _use_wal(connection)
        with _transaction(connection):
            if _version(connection) == 0:  # another process may have been faster
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait for others here, whatever the busy timeout."""
    give_up_at = time.monotonic() + patience_s(BUSY_TIMEOUT_S)
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
