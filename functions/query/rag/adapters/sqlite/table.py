"""The storage port on one SQLite file, which the local server and ``ragctl`` share.

Each process keeps one connection, made on first use, which its threads use in turn. (With a connection for each
operation SQLite would rebuild the index of its log each time: 10-30 ms per write instead of .1, measured.)
"""

from __future__ import annotations

import base64
import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rag.adapters.sqlite.files import FileId, create_private, file_id, find_exposed
from rag.adapters.stores.guard import lock_wait_s
from rag.adapters.stores.table import Attribute, Swap, SwapConflict, TableItem, TableKey
from rag.errors import StoreUnavailable

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


class SqliteTable:
    """See ``rag.adapters.stores.table.Table``. The file at ``path`` is readable by its owner only."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: FileId | None = None
        self._writes = itertools.count()

    def warm(self) -> None:
        """Do nothing: there is no client."""

    def renew(self) -> None:
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def exists(self) -> bool:
        return self._path.exists()

    def get(self, key: TableKey) -> TableItem | None:
        with self.reading() as connection:
            return self._get(connection, key)

    def get_many(self, keys: Iterable[TableKey]) -> list[TableItem]:
        with self.reading() as connection:
            items = [self._get(connection, key) for key in dict.fromkeys(keys)]
        return [item for item in items if item]

    def newest(self, pk: str, *, prefix: str, limit: int) -> list[TableItem]:
        return self.newest_of_each([pk], prefix=prefix, limit=limit)[0]

    def newest_of_each(self, pks: Sequence[str], *, prefix: str, limit: int) -> list[list[TableItem]]:
        where = "pk = ? AND substr(sk, 1, ?) = ? AND expires_at > ? ORDER BY sk DESC LIMIT ?"
        with self.reading() as connection:
            return [_select(connection, where, pk, len(prefix), prefix, self.clock(), limit) for pk in pks]

    def list_partition(self, pk: str) -> list[TableItem]:
        with self.reading() as connection:
            return _select(connection, "pk = ?", pk)

    def scan(self, *, prefix: str, text: str) -> list[TableItem]:
        where = "substr(pk, 1, ?) = ? AND instr(json_extract(attributes, '$.body'), ?) > 0"
        with self.reading() as connection:
            return _select(connection, where, len(prefix), prefix, text)

    def put(self, item: TableItem) -> None:
        self.put_many([item])

    def put_many(self, items: Iterable[TableItem]) -> None:
        """Write ``items``, all or none."""
        with self.writing() as connection:
            _put(connection, items)

    def delete(self, key: TableKey) -> None:
        self.delete_many([key])

    def delete_many(self, keys: Iterable[TableKey]) -> None:
        """Delete the items at ``keys``, all or none."""
        with self.writing() as connection:
            _delete(connection, keys)

    def replace_unless_newer(
        self, item: TableItem, *, puts: Sequence[TableItem], deletes: Sequence[TableKey], swap: Swap | None = None
    ) -> bool:
        with self.writing() as connection:
            stored = _select(connection, "pk = ? AND sk = ?", item.key.pk, item.key.sk)
            if stored and float(stored[0].attributes["at"]) > float(item.attributes["at"]):
                return False
            if swap and self._get(connection, swap.item.key) != swap.before:
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

    def _get(self, connection: sqlite3.Connection, key: TableKey) -> TableItem | None:
        found = _select(connection, "pk = ? AND sk = ? AND expires_at > ?", key.pk, key.sk, self.clock())
        return found[0] if found else None

    def _connect(self) -> sqlite3.Connection:
        if self._connection and self._file != file_id(self._path):  # the file was deleted or replaced
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = self._open()
        self._connection.execute(f"PRAGMA busy_timeout = {1000 * lock_wait_s(BUSY_TIMEOUT_S):.0f}")
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if not self._path.exists():
            create_private(self._path)
        if exposed := find_exposed(self._path):
            raise StoreUnavailable(f"SQLite store: others may read or write {exposed.name!r}: chmod 600")
        self._file = file_id(self._path)
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
    rows = [(item.key.pk, item.key.sk, _encode(item.attributes), item.expires_at) for item in items]
    connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?)", rows)


def _delete(connection: sqlite3.Connection, keys: Iterable[TableKey]) -> None:
    connection.executemany("DELETE FROM items WHERE pk = ? AND sk = ?", [(key.pk, key.sk) for key in keys])


_DECODER = json.JSONDecoder(
    object_hook=lambda found: base64.b64decode(found["base64"]) if found.keys() == {"base64"} else found
)


def _encode(attributes: Mapping[str, Attribute]) -> str:
    """Return ``attributes`` as JSON; bytes become ``{"base64": text}``."""
    return json.dumps(
        attributes, ensure_ascii=False, default=lambda value: {"base64": base64.b64encode(value).decode()}
    )


@lru_cache(MAX_CACHED_ITEMS)
def _decode_short(text: str) -> Mapping[str, Attribute]:
    attributes: Mapping[str, Attribute] = _DECODER.decode(text)
    return attributes


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
