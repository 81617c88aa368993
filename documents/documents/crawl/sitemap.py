"""Sitemaps: which addresses they list, and when those changed. Nothing in them is expanded or fetched by the parser."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime
from xml.parsers import expat

MAX_BYTES = 50 * 2**20
"""What the protocol lets a sitemap have, unpacked."""
_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 2000


class BadSitemap(ValueError):
    """A sitemap that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """``pages`` and ``sitemaps`` are (address as written, last modified as ISO text or ``""``)."""

    pages: tuple[tuple[str, str], ...] = ()
    sitemaps: tuple[tuple[str, str], ...] = ()


def unpacked(body: bytes) -> bytes:
    """``body``, or what is in it if it is a gzip file, as in ``sitemap.xml.gz``.

    Raises:
        BadSitemap: it is damaged, or more than ``MAX_BYTES``.
    """
    if not body.startswith(_GZIP):
        return body
    unpack = zlib.decompressobj(31)
    try:
        data = unpack.decompress(body, MAX_BYTES)
    except zlib.error as exc:
        raise BadSitemap("is a damaged gzip file") from exc
    if not unpack.eof:
        raise BadSitemap(f"is cut off, or larger than {MAX_BYTES // 2**20} MiB when unpacked")
    return data


def is_sitemap(body: bytes) -> bool:
    """Whether ``body`` (unpacked) is one, whatever it is called."""
    head = body[:_HEAD_BYTES]
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and (b"urlset" in head or b"sitemapindex" in head)


def parse(body: bytes) -> Sitemap:
    """What the sitemap, or index of sitemaps, lists.

    Raises:
        BadSitemap: it is not XML, or declares a document type (which can hide attacks, and no sitemap needs).
    """
    reader = _Reader()
    try:
        reader.parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as exc:
        raise BadSitemap("is not XML that can be read, or has a DOCTYPE, which is refused") from exc
    return Sitemap(tuple(reader.found["url"]), tuple(reader.found["sitemap"]))


class _Reader:
    """Python's expat; what it would expand or fetch is declared in a DOCTYPE, and ends it."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[str, str]]] = {"url": [], "sitemap": []}
        self._said: dict[str, str] = {}
        self._path: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _refuse(self, *_: object) -> None:
        raise ValueError("DOCTYPE")

    def _start(self, tag: str, _: object) -> None:
        self._path.append(tag.rpartition(" ")[2])  # whatever namespace it is in: many sitemaps misspell it
        if self._path[-1] in self.found:
            self._said = {}

    def _text(self, text: str) -> None:
        if self._path[-2:-1] and self._path[-2] in self.found:  # not the <loc> of an image inside a <url>
            self._said[self._path[-1]] = self._said.get(self._path[-1], "") + text

    def _end(self, _: str) -> None:
        kind = self._path.pop()
        if kind in self.found and self._said.get("loc", "").strip():
            self.found[kind].append((self._said["loc"].strip(), iso(self._said.get("lastmod", "").strip())))


def iso(text: str) -> str:
    """``text`` if it is a date in ISO form, else ``""``."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text
