"""What was read of files, kept beside the index: a file that is as it was is not read or converted again.

A reading is kept under the hash of the file's bytes, of its place, of the options, and of the program and its
libraries, with what the page took in from other files. What is damaged or cannot be kept is read again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import documents

if TYPE_CHECKING:
    from knowledge.read.loading import Outcome
    from knowledge.read.walk import FoundFile

READINGS_NAME = ".readings.sqlite"
"""Beside the manifest of an index."""

_TABLE = "CREATE TABLE IF NOT EXISTS readings (key BLOB PRIMARY KEY, looks TEXT NOT NULL, outcomes BLOB NOT NULL)"

type Outcomes = tuple[Outcome, ...]
type Read = Callable[[FoundFile], Outcomes]


class Watched(NamedTuple):
    """What was read of a file, and its bytes' hash and what was looked at besides; None: it may not be kept."""

    outcomes: Outcomes
    digest: bytes | None = None
    looks: Mapping[str, str] = {}


type RunWatched = Callable[[Callable[[FoundFile], Watched], Sequence[FoundFile]], Iterable[Watched]]


class KeptReadings:
    """Readings in the SQLite file ``path``, which need not be there; ``options`` are all that reading depends on.

    Without a ``path`` nothing is kept.
    """

    def __init__(self, path: Path | None, options: str) -> None:
        self._path = path
        self._common = f"{program()} {options}"
        self._used: set[bytes] = set()
        self._fresh: dict[bytes, tuple[str, bytes]] = {}

    def run(self, function: Read, files: Sequence[FoundFile], run: RunWatched) -> Iterator[Outcomes]:
        """``function`` of each of ``files``, in order; ``run`` calls it for those of which nothing is kept."""
        with closing(_opened(self._path)) as database:
            states = cache(documents.state_of_look)
            keys = [self._key(found, _digest(found.file)) for found in files]
            known = [key is not None and _is_known(database, key, states) for key in keys]
            unread = [found for found, is_known in zip(files, known, strict=True) if not is_known]
            fresh = iter(run(partial(_watched, function), unread)) if unread else iter(())
            for found, key, is_known in zip(files, keys, known, strict=True):
                if is_known and key is not None:
                    self._used.add(key)
                    yield _stored(database, key, found) or function(found)
                else:
                    yield self._noted(found, next(fresh))

    def save(self) -> None:
        """Keep what was read, and no more than that."""
        if self._path is None:
            return
        with suppress(sqlite3.Error, OSError), closing(_opened(self._path, write=True)) as database, database:
            there = {key for (key,) in database.execute("SELECT key FROM readings")}
            gone = [(key,) for key in there - self._used - self._fresh.keys()]
            database.executemany("DELETE FROM readings WHERE key = ?", gone)
            rows = ((key, looks, outcomes) for key, (looks, outcomes) in self._fresh.items())
            database.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?)", rows)

    def _noted(self, found: FoundFile, watched: Watched) -> Outcomes:
        key = self._key(found, watched.digest)
        text = _written(watched.outcomes, found) if key else None
        if key and text:
            self._fresh[key] = json.dumps(watched.looks), zlib.compress(text.encode(), level=1)
        return watched.outcomes

    def _key(self, found: FoundFile, digest: bytes | None) -> bytes | None:
        if digest is None:
            return None
        place = [str(found.file), str(found.root), found.root.resolve().name, found.path, found.explicit, found.url]
        return hashlib.sha256(json.dumps([self._common, place, digest.hex()]).encode()).digest()


@cache
def program() -> str:
    """The hash of all that turns a file into a document: this program's own modules, and its libraries' versions."""
    import knowledge.read

    folders = [Path(__file__).parent, *map(Path, [*documents.__path__, *knowledge.read.__path__])]
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    for place in sys.path:
        digest.update("".join(sorted(path.name for path in Path(place).glob("*.dist-info"))).encode())
    return digest.hexdigest()


def _watched(function: Read, found: FoundFile) -> Watched:
    """What ``function`` reads of a file, perhaps in another process."""
    before = _digest(found.file)
    with documents.looks() as looks:
        outcomes = function(found)
    same = before is not None and before == _digest(found.file)
    return Watched(outcomes, before if same else None, {look: documents.state_of_look(look) for look in looks})


def _digest(path: Path) -> bytes | None:
    from knowledge.read.file_bytes import file_bytes

    try:
        return hashlib.sha256(file_bytes(path)).digest()
    except (OSError, ValueError):
        return None  # reading it says so


def _written(outcomes: Outcomes, found: FoundFile) -> str | None:
    """``outcomes`` as JSON, None where another day or another try may have others."""
    from knowledge.model.values import Failure
    from knowledge.read.loading import Entry, LeftOut

    parts: list[dict[str, Any]] = []
    for outcome in outcomes:
        if isinstance(outcome, Entry):
            if outcome.fields.draft or outcome.fields.expires or outcome.fields.publish:
                return None
            parts.append({"entry": {**asdict(outcome), "found": None}})
        elif isinstance(outcome, LeftOut) and outcome.empty:
            parts.append({"left_out": asdict(outcome)})
        elif isinstance(outcome, Failure) and outcome.lasting:
            parts.append({"failure": asdict(outcome)})
        else:
            return None
    text = json.dumps(parts)
    return text if _read(text, found) == outcomes else None


def _read(text: str, found: FoundFile) -> Outcomes:
    return tuple(_outcome(part, found) for part in json.loads(text))


def _outcome(part: Mapping[str, Any], found: FoundFile) -> Outcome:
    from knowledge.model.values import Failure
    from knowledge.read.fields import Fields
    from knowledge.read.loading import Entry, LeftOut

    if "left_out" in part:
        return LeftOut(**part["left_out"])
    if "failure" in part:
        return Failure(**part["failure"])
    entry = part["entry"]
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry["fields"].items()
    }
    return Entry(**{**entry, "found": found, "fields": Fields(**fields), "caveats": tuple(entry["caveats"])})


def _opened(path: Path | None, *, write: bool = False) -> sqlite3.Connection:
    """The kept readings; none where the file is missing or damaged, which ``write`` begins anew."""
    if path is None or (not write and not path.exists()):
        return _connected(":memory:")
    try:
        return _connected(path)
    except sqlite3.Error:
        if not write:
            return _connected(":memory:")
        path.unlink()
        return _connected(path)


def _connected(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # what a cut of the power damages is read again
        connection.execute(_TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_known(database: sqlite3.Connection, key: bytes, states: Callable[[str], str]) -> bool:
    try:
        row = database.execute("SELECT looks FROM readings WHERE key = ?", (key,)).fetchone()
        return row is not None and all(states(look) == state for look, state in json.loads(row[0]).items())
    except (sqlite3.Error, ValueError, AttributeError):
        return False


def _stored(database: sqlite3.Connection, key: bytes, found: FoundFile) -> Outcomes | None:
    try:
        (kept,) = database.execute("SELECT outcomes FROM readings WHERE key = ?", (key,)).fetchone()
        return _read(zlib.decompress(kept).decode(), found)
    except (sqlite3.Error, zlib.error, ValueError, TypeError, KeyError, AttributeError):
        return None
