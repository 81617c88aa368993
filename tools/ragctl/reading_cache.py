"""A cache of reading results beside the index: an unchanged file is not read or converted again.

The key of a result is a hash of the file's bytes and place, of the options, and of the program and its libraries. A
result also records the other files that the page included. Damaged entries and results that may change by themselves
are read again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import documents
import knowledge.read
from knowledge.model.values import Failure
from knowledge.read.decoding import file_bytes
from knowledge.read.fields import Fields
from knowledge.read.loading import ExcludedDocument, LoadedDocument, LoadOutcome
from knowledge.read.losses import WordLoss
from knowledge.read.walk import FoundFile

READINGS_NAME = ".readings.sqlite"
"""Beside the manifest of an index."""

_STATEMENTS = (
    "PRAGMA synchronous = OFF",  # entries that a power cut damages are read again
    "CREATE TABLE IF NOT EXISTS readings (key BLOB PRIMARY KEY, looks TEXT NOT NULL, outcomes BLOB NOT NULL)",
)

type Outcomes = tuple[LoadOutcome, ...]
type Read = Callable[[FoundFile], Outcomes]


class TracedReading(NamedTuple):
    """A file's outcomes, the hash of its bytes, and the states of the other places that reading it depended on.

    A ``digest`` of None means that the outcomes must not be cached.
    """

    outcomes: Outcomes
    digest: bytes | None = None
    looks: Mapping[str, str] = {}


type RunTraced = Callable[[Callable[[FoundFile], TracedReading], Sequence[FoundFile]], Iterable[TracedReading]]


class ReadingCache:
    """Reading results in the SQLite file ``path``, which need not exist; without a ``path`` nothing is cached.

    ``options`` describes all settings that a result depends on, ``sites`` has those of unpacked zips, by their folders.
    """

    def __init__(self, path: Path | None, options: str, sites: Mapping[Path, documents.Site] | None = None) -> None:
        self._path = path
        self._sites = {} if sites is None else sites
        self._common = f"{program_digest()} {options}"
        self._used: set[bytes] = set()
        self._fresh: dict[bytes, tuple[str, bytes]] = {}

    def run(self, function: Read, files: Sequence[FoundFile], run: RunTraced) -> Iterator[Outcomes]:
        """Yield ``function`` of each of ``files``, in order; ``run`` calls it for the files without a cached result."""
        with closing(_open_database(self._path)) as database:
            states = cache(documents.look_state)
            keys = [self._key(found, _digest_file(found)) for found in files]
            cached = [key is not None and _is_current(database, key, states) for key in keys]
            unread = [found for found, is_cached in zip(files, cached, strict=True) if not is_cached]
            fresh = iter(run(partial(_read_traced, function), unread)) if unread else iter(())
            for found, key, is_cached in zip(files, keys, cached, strict=True):
                if is_cached and key is not None:
                    self._used.add(key)
                    yield _load_outcomes(database, key, found) or function(found)
                    continue
                reading = next(fresh)
                fresh_key = self._key(found, reading.digest)
                text = _dump_outcomes(reading.outcomes, found) if fresh_key else None
                if fresh_key and text:
                    self._fresh[fresh_key] = json.dumps(reading.looks), zlib.compress(text.encode(), level=1)
                yield reading.outcomes

    def save(self) -> None:
        """Write the results of this run and delete all others."""
        if self._path is None:
            return
        with suppress(sqlite3.Error, OSError), closing(_open_database(self._path, write=True)) as database, database:
            stored = {key for (key,) in database.execute("SELECT key FROM readings")}
            unused = [(key,) for key in stored - self._used - self._fresh.keys()]
            database.executemany("DELETE FROM readings WHERE key = ?", unused)
            rows = ((key, looks, outcomes) for key, (looks, outcomes) in self._fresh.items())
            database.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?)", rows)

    def _key(self, found: FoundFile, digest: bytes | None) -> bytes | None:
        if digest is None:
            return None
        place = [str(found.file), str(found.root), found.root.resolve().name, found.path, found.explicit, found.url]
        place += [found.part, repr(self._sites.get(found.archive)) if found.archive else ""]
        return hashlib.sha256(json.dumps([self._common, place, digest.hex()]).encode()).digest()


@cache
def program_digest() -> str:
    """Return a hash of all that turns a file into a document: the modules of this program, its libraries' versions."""
    folders = [Path(__file__).parent, *map(Path, [*documents.__path__, *knowledge.read.__path__])]
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    for place in sys.path:
        digest.update("".join(sorted(path.name for path in Path(place).glob("*.dist-info"))).encode())
    return digest.hexdigest()


def _read_traced(function: Read, found: FoundFile) -> TracedReading:
    """Read a file, perhaps in another process, and record the dependencies of the result."""
    before = _digest_file(found)
    with documents.record_looks() as looks:
        outcomes = function(found)
    is_same = before is not None and before == _digest_file(found)
    states = {look: documents.look_state(look) for look in looks}
    return TracedReading(outcomes, before if is_same else None, states)


def _digest_file(found: FoundFile) -> bytes | None:
    try:
        return hashlib.sha256(file_bytes(found.file, found.part)).digest()
    except (OSError, ValueError):
        return None  # reading the file reports it


def _dump_outcomes(outcomes: Outcomes, found: FoundFile) -> str | None:
    """Return ``outcomes`` as JSON, or None if another day or another try may have other outcomes."""
    parts: list[dict[str, Any]] = []
    for outcome in outcomes:
        match outcome:
            case LoadedDocument(fields=Fields(draft=False, expires="", publish="")):
                parts.append({"entry": {**asdict(outcome), "found": outcome.found.path}})
            case ExcludedDocument(empty=True) | ExcludedDocument(lasting=True):
                parts.append({"left_out": asdict(outcome)})
            case Failure(lasting=True):
                parts.append({"failure": asdict(outcome)})
            case _:
                return None
    text = json.dumps(parts)
    return text if _parse_outcomes(text, found) == outcomes else None


def _parse_outcomes(text: str, found: FoundFile) -> Outcomes:
    outcomes: list[LoadOutcome] = []
    for part in json.loads(text):
        if "left_out" in part:
            outcomes.append(ExcludedDocument(**part["left_out"]))
        elif "failure" in part:
            outcomes.append(Failure(**part["failure"]))
        else:
            entry = part["entry"]
            fields: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in entry["fields"].items()
            }
            entry |= {"fields": Fields(**fields), "caveats": tuple(entry["caveats"])}
            entry["found"] = replace(found, path=entry["found"])
            entry["loss"] = WordLoss(*entry["loss"]) if entry["loss"] else None
            outcomes.append(LoadedDocument(**entry))
    return tuple(outcomes)


def _open_database(path: Path | None, *, write: bool = False) -> sqlite3.Connection:
    """Open the cache; a missing or damaged file counts as empty, and is made anew if ``write`` is true."""
    if path is None or (not write and not path.exists()):
        return connect_database(":memory:", *_STATEMENTS)
    try:
        return connect_database(path, *_STATEMENTS)
    except sqlite3.Error:
        if write:
            path.unlink()
        return connect_database(path if write else ":memory:", *_STATEMENTS)


def connect_database(path: Path | str, *statements: str) -> sqlite3.Connection:
    """Open a database and execute ``statements``; it is closed again if one of them fails."""
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_current(database: sqlite3.Connection, key: bytes, states: Callable[[str], str]) -> bool:
    try:
        row = database.execute("SELECT looks FROM readings WHERE key = ?", (key,)).fetchone()
        return row is not None and all(states(look) == state for look, state in json.loads(row[0]).items())
    except (sqlite3.Error, ValueError, AttributeError):
        return False


def _load_outcomes(database: sqlite3.Connection, key: bytes, found: FoundFile) -> Outcomes | None:
    try:
        (stored,) = database.execute("SELECT outcomes FROM readings WHERE key = ?", (key,)).fetchone()
        return _parse_outcomes(zlib.decompress(stored).decode(), found)
    except (sqlite3.Error, zlib.error, ValueError, TypeError, KeyError, AttributeError):
        return None
