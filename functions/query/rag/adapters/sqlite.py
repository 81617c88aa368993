"""The storage port on one SQLite file, which the local server and ``ragctl`` share.

The file is private to its owner, and its deletion or replacement is recognised.

Each process keeps one connection, made on first use, which its threads use in turn. (With a connection for each
operation SQLite would rebuild the index of its log each time: 10-30 ms per write instead of .1, measured.)
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.adapters.stores.guard import lock_wait_s
from rag.adapters.stores.table import Swap, SwapConflict, Table, TableItem, TableKey
from rag.errors import StoreUnavailable

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database; all of them hold rows."""
_OTHERS_MAY = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH

SCHEMA_VERSION = 5
BUSY_TIMEOUT_S = 5.0
"""The longest wait of a call for other processes; a vote's calls wait no longer than the vote has time."""
WRITES_BETWEEN_SWEEPS = 200
MAX_CACHED_ITEMS, MAX_CACHED_CHARS = 2_000, 4_000
"""Decoded items that a process keeps, and the longest of them. A vote has the same text under each of its chunks:
1,000 of them on ten chunks are read in 8 ms instead of 13."""

SCHEMA = """
CREATE TABLE items (
    pk TEXT NOT NULL, sk TEXT NOT NULL, attributes TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (pk, sk)
)
"""
SELECT = "SELECT pk, sk, attributes, expires_at FROM items WHERE"


class SqliteTable(Table):
    """See ``rag.adapters.stores.table.Table``. The file at ``path`` is readable by its owner only."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writes = itertools.count()

    def renew(self) -> None:
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def exists(self) -> bool:
        return self._path.exists()

    def get(self, key: TableKey) -> TableItem | None:
        return next(iter(self.get_many([key])), None)

    def get_many(self, keys: Iterable[TableKey]) -> list[TableItem]:
        with self.reading() as connection:
            return [item for key in dict.fromkeys(keys) for item in self._get(connection, key)]

    def newest(self, pk: str, *, prefix: str, limit: int) -> list[TableItem]:
        where = "pk = ? AND substr(sk, 1, ?) = ? AND expires_at > ? ORDER BY sk DESC LIMIT ?"
        with self.reading() as connection:
            return _select(connection, where, pk, len(prefix), prefix, self.clock(), limit)

    def list_partition(self, pk: str) -> list[TableItem]:
        with self.reading() as connection:
            return _select(connection, "pk = ?", pk)

    def scan(self, *, prefix: str, text: str) -> list[TableItem]:
        where = "substr(pk, 1, ?) = ? AND instr(json_extract(attributes, '$.body'), ?) > 0"
        with self.reading() as connection:
            return _select(connection, where, len(prefix), prefix, text)

    def put_many(self, items: Iterable[TableItem]) -> None:
        """Write ``items``, all or none."""
        with self.writing() as connection:
            _put(connection, items)

    def delete_many(self, keys: Iterable[TableKey]) -> None:
        """Delete the items at ``keys``, all or none."""
        with self.writing() as connection:
            _delete(connection, keys)

    def replace_unless_newer(
        self, item: TableItem, *, puts: Sequence[TableItem], deletes: Sequence[TableKey], swap: Swap | None = None
    ) -> bool:
        with self.writing() as connection:
            stored = _select(connection, "pk = ? AND sk = ?", item.key.pk, item.key.sk)
            if stored and stored[0].attributes["at"] > item.attributes["at"]:
                return False
            if swap and self._get(connection, swap.item.key) != ([swap.before] if swap.before else []):
                raise SwapConflict("another call changed an item after it was read")
            _put(connection, [item, *puts, *([swap.item] if swap else [])])
            _delete(connection, deletes)
        return True

    def purge_deleted(self) -> None:
        """Remove deleted rows from the file's free pages and from its log."""
        with self.reading() as connection:
            connection.execute("VACUUM")
            in_use, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if in_use:
            raise StoreUnavailable("The session is forgotten, but its texts may lie in the store's log: run it again")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection to this thread alone.

        Raises:
            StoreUnavailable: the file cannot be made or read, or another release made it.
        """
        # The calls before this one may each have waited for another process.
        if not self._lock.acquire(timeout=lock_wait_s(threading.TIMEOUT_MAX)):
            raise StoreUnavailable(f"SQLite store {self._path.name!r}: other calls wait for it")
        try:
            yield self._connect()
        except (sqlite3.Error, OSError, json.JSONDecodeError) as exc:
            raise StoreUnavailable(f"SQLite store {self._path.name!r}: {exc}") from exc
        finally:
            self._lock.release()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, which is undone if the block raises.

        Raises:
            StoreUnavailable: see ``reading``, or other processes wrote for longer than the busy timeout.
        """
        with self.reading() as connection:
            with _transaction(connection):
                yield connection
            if next(self._writes) % WRITES_BETWEEN_SWEEPS == 0:
                connection.execute("DELETE FROM items WHERE expires_at <= ?", (self.clock(),))

    def _get(self, connection: sqlite3.Connection, key: TableKey) -> list[TableItem]:
        return _select(connection, "pk = ? AND sk = ? AND expires_at > ?", key.pk, key.sk, self.clock())

    def _connect(self) -> sqlite3.Connection:
        if self._connection and self._file != _file_id(self._path):  # the file was deleted or replaced
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = self._open()
        self._connection.execute(f"PRAGMA busy_timeout = {1000 * lock_wait_s(BUSY_TIMEOUT_S):.0f}")
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if not self._path.exists():
            _create_private(self._path)
        if exposed := find_exposed(self._path):
            raise StoreUnavailable(f"SQLite store: others may read or write {exposed.name!r}: chmod 600")
        self._file = _file_id(self._path)
        connection = sqlite3.connect(
            self._path, timeout=lock_wait_s(BUSY_TIMEOUT_S), isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if _version(connection) == 0:
            _use_wal(connection)
            with _transaction(connection):
                if _version(connection) == 0:  # another process may have been faster
                    connection.execute(SCHEMA)
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if (version := _version(connection)) != SCHEMA_VERSION:
            raise StoreUnavailable(
                f"SQLite store {self._path.name!r} has schema {version}, this release has {SCHEMA_VERSION}: delete it"
            )
        connection.execute("PRAGMA synchronous = NORMAL")  # with WAL a crash of the process loses nothing


def _select(connection: sqlite3.Connection, where: str, *values: str | float) -> list[TableItem]:
    items = []
    for pk, sk, text, expires_at in connection.execute(f"{SELECT} {where}", values):
        attributes = _decode_short(text) if len(text) <= MAX_CACHED_CHARS else _DECODER.decode(text)
        items.append(TableItem(TableKey(pk, sk), attributes, expires_at))
    return items


def _put(connection: sqlite3.Connection, items: Iterable[TableItem]) -> None:
    rows = [(item.key.pk, item.key.sk, _ENCODER.encode(item.attributes), item.expires_at) for item in items]
    connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)", rows)


def _delete(connection: sqlite3.Connection, keys: Iterable[TableKey]) -> None:
    connection.executemany("DELETE FROM items WHERE pk = ? AND sk = ?", [(key.pk, key.sk) for key in keys])


# Attributes are stored as JSON; bytes become {"base64": text}.
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=lambda value: {"base64": base64.b64encode(value).decode()})
_DECODER = json.JSONDecoder(
    object_hook=lambda found: base64.b64decode(found["base64"]) if found.keys() == {"base64"} else found
)


@lru_cache(MAX_CACHED_ITEMS)
def _decode_short(text: str) -> Any:
    return _DECODER.decode(text)


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait for other processes here, whatever the busy timeout."""
    give_up_at = time.monotonic() + lock_wait_s(BUSY_TIMEOUT_S)
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
    with connection:  # commits, or rolls back if the block raises
        yield


def find_exposed(path: Path) -> Path | None:
    """Return a file of the database at ``path`` that others than its owner may read or write.

    None where there is none, and on systems without such modes.
    """
    if os.name != "posix":
        return None
    files = (path, *_side_files(path))
    return next((file for file in files if file.is_file() and file.stat().st_mode & _OTHERS_MAY), None)


def _side_files(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _SIDE_FILES]


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file at ``path``, of which a new file there has others; None without a file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _create_private(path: Path) -> None:
    """Create an empty file for its owner alone, whatever the umask, unless another process creates it first.

    SQLite would make it readable by all; its side files take over the mode. Side files of a database that was deleted
    are removed first: processes that still have it open share them, and must not share them with the new one.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)
    with _lock_folder(path.parent):
        if path.exists():
            return
        for file in _side_files(path):
            file.unlink(missing_ok=True)
        path.touch(0o600)
        path.chmod(0o600)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from creating a store in ``folder``.

    Systems without this lock cannot delete a file that is open either.
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
