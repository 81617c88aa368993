"""Bodies of pages on disk with what a later request needs to ask for changes only; a killed run leaves it usable."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of a body. ``url`` is where it came from; ``modified`` is the server's ``Last-Modified`` as sent.

    ``robots`` is its ``X-Robots-Tag`` as sent, ``fetched`` the date of the last answer (ISO), ``digest`` the body's
    sha256, ``suffix`` its file's.
    """

    url: str
    suffix: str
    digest: str
    fetched: str
    etag: str = ""
    modified: str = ""
    robots: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask for the body only if it changed."""
        sent = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in sent.items() if value}


class Cache:
    """A folder of two files for each page: the body, and after it a JSON file that vouches for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entry(self, url: str) -> Entry | None:
        """What is known of ``url``; None when nothing is, or when its files do not fit together."""
        return self._read(self._folder / f"{_key(url)}.json")

    def entries(self) -> Iterator[Entry]:
        """All that fit together, by their file names."""
        for path in sorted(self._folder.glob("*.json")):
            if (entry := self._read(path)) is not None:
                yield entry

    def file(self, entry: Entry) -> Path:
        """Where the body is."""
        return self._folder / f"{_key(entry.url)}{entry.suffix}"

    def store(self, entry: Entry, body: bytes | None = None) -> None:
        """Keep ``entry``, with a new ``body`` if one came. A kill between the two files loses this page only."""
        if body is not None:
            _replace(self.file(entry), body)
        _replace(self._folder / f"{_key(entry.url)}.json", json.dumps(asdict(entry)).encode())

    def prune(self, keep: Iterable[Entry]) -> None:
        """Remove every file that belongs to none of ``keep``."""
        names = {name for entry in keep for name in (f"{_key(entry.url)}.json", self.file(entry).name)}
        for path in self._folder.iterdir():
            if path.name not in names and path.is_file() and path.name != ".lock":
                path.unlink(missing_ok=True)

    def _read(self, path: Path) -> Entry | None:
        try:
            entry = Entry(**json.loads(path.read_bytes()))
            body = self.file(entry).read_bytes()
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        fits = path.stem == _key(entry.url) and digest(body) == entry.digest
        return entry if fits else None


def digest(body: bytes) -> str:
    """The sha256 of ``body`` as hexadecimal digits."""
    return sha256(body).hexdigest()


def _key(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:_DIGITS]


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    beside.write_bytes(data)
    beside.replace(path)
