"""A cache of page bodies on disk, with the headers for conditional requests; a killed run leaves it usable."""

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
    """The record of a body. ``url`` is its address; ``modified`` is the server's ``Last-Modified`` as sent.

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
        """The headers of a conditional request."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in headers.items() if value}


class Cache:
    """A folder with two files for each page: the body, and a JSON file, written after it, with its record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entry(self, url: str) -> Entry | None:
        """Return the record of ``url``; None if there is none, or if its files do not match."""
        return self._read(self._folder / f"{_key(url)}.json")

    def entries(self) -> Iterator[Entry]:
        """Yield the records whose files match, by their file names."""
        for path in sorted(self._folder.glob("*.json")):
            if (entry := self._read(path)) is not None:
                yield entry

    def file(self, entry: Entry) -> Path:
        """Return the file of the body."""
        return self._folder / f"{_key(entry.url)}{entry.suffix}"

    def store(self, entry: Entry, body: bytes | None = None) -> None:
        """Store ``entry``, and ``body`` if it is new. A kill between the two files loses this page only."""
        if body is not None:
            _replace(self.file(entry), body)
        _replace(self._folder / f"{_key(entry.url)}.json", json.dumps(asdict(entry)).encode())

    def prune(self, keep: Iterable[Entry]) -> None:
        """Remove the files of all other entries."""
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
        return entry if path.stem == _key(entry.url) and digest(body) == entry.digest else None


def digest(body: bytes) -> str:
    """Return the sha256 of ``body`` as hexadecimal digits."""
    return sha256(body).hexdigest()


def _key(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:_DIGITS]


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
