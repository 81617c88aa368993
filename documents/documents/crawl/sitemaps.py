"""Sitemaps: parse them without expanding or fetching anything, and put their addresses in a crawl's queue."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple
from xml.parsers import expat

from documents.crawl.client import Client, FetchError
from documents.crawl.frontier import Frontier
from documents.values import FetchFailure

MAX_BYTES = 50 * 2**20
"""The protocol's limit for an unpacked sitemap."""
MAX_SITEMAPS = 500
_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 2000


class BadSitemap(ValueError):
    """A sitemap that cannot be read; the message is the reason."""


class Sitemap(NamedTuple):
    """The entries of a sitemap: (address as written, last modified as ISO text or ``""``)."""

    pages: list[tuple[str, str]]
    sitemaps: list[tuple[str, str]]


def unpack_sitemap(body: bytes) -> bytes:
    """Return ``body``, decompressed if it is a gzip file, as in ``sitemap.xml.gz``.

    Raises:
        BadSitemap: it is damaged, or larger than ``MAX_BYTES``.
    """
    if not body.startswith(_GZIP):
        return body
    decompressor = zlib.decompressobj(31)
    try:
        data = decompressor.decompress(body, MAX_BYTES)
    except zlib.error as exc:
        raise BadSitemap("is a damaged gzip file") from exc
    if not decompressor.eof:
        raise BadSitemap(f"is cut off, or larger than {MAX_BYTES // 2**20} MiB when unpacked")
    return data


def is_sitemap(body: bytes) -> bool:
    """Whether ``body`` (unpacked) is a sitemap, whatever its name."""
    head = body[:_HEAD_BYTES]
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and (b"urlset" in head or b"sitemapindex" in head)


def parse_sitemap(body: bytes) -> Sitemap:
    """Return the entries of a sitemap or of an index of sitemaps.

    Raises:
        BadSitemap: it is not XML, or declares a document type (which can hide attacks, and no sitemap needs).
    """
    parser = _SitemapParser()
    try:
        parser.expat.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as exc:
        raise BadSitemap("is not XML that can be read, or has a DOCTYPE, which is refused") from exc
    return Sitemap(parser.entries["url"], parser.entries["sitemap"])


class _SitemapParser:
    """Python's expat. Only a DOCTYPE can declare entities or external files, and it ends the parse."""

    def __init__(self) -> None:
        self.entries: dict[str, list[tuple[str, str]]] = {"url": [], "sitemap": []}
        self._fields: dict[str, str] = {}
        self._path: list[str] = []
        self.expat = expat.ParserCreate(namespace_separator=" ")
        self.expat.buffer_text = True
        self.expat.StartDoctypeDeclHandler = self._refuse_doctype
        self.expat.StartElementHandler = self._start_element
        self.expat.EndElementHandler = self._end_element
        self.expat.CharacterDataHandler = self._add_text

    def _refuse_doctype(self, *_: object) -> None:
        raise ValueError("DOCTYPE")

    def _start_element(self, tag: str, _: object) -> None:
        self._path.append(tag.rpartition(" ")[2])  # whatever namespace it is in: many sitemaps misspell it
        if self._path[-1] in self.entries:
            self._fields = {}

    def _add_text(self, text: str) -> None:
        if self._path[-2:-1] and self._path[-2] in self.entries:  # not the <loc> of an image inside a <url>
            self._fields[self._path[-1]] = self._fields.get(self._path[-1], "") + text

    def _end_element(self, _: str) -> None:
        kind = self._path.pop()
        if kind in self.entries and (address := self._fields.get("loc", "").strip()):
            modified = self._fields.get("lastmod", "").strip()
            try:
                datetime.fromisoformat(modified)
            except ValueError:
                modified = ""
            self.entries[kind].append((address, modified))


class SitemapReader:
    """Reads sitemaps into ``frontier``; ``failed`` lists those that could not be read."""

    def __init__(self, *, client: Client, frontier: Frontier, redirect: Callable[[str], str]) -> None:
        self.failed: list[FetchFailure] = []
        self._client, self._frontier, self._redirect = client, frontier, redirect
        self._read_count = 0

    def read(self, url: str, body: bytes | None = None) -> None:
        """Read the sitemap at ``url`` and those that it names. ``body`` is its text if it was fetched before.

        Raises:
            ByteLimitReached: the bytes of the whole crawl are used up.
        """
        waiting: deque[tuple[str, bytes | None]] = deque([(url, body)])
        while waiting and self._read_count < MAX_SITEMAPS:
            self._read_count += 1
            where, text = waiting.popleft()
            try:
                sitemap = parse_sitemap(unpack_sitemap(self._fetch(where) if text is None else text))
            except (BadSitemap, FetchError) as exc:
                reason = f"this sitemap {exc}: the pages that only it lists are not known"
                self.failed.append(FetchFailure(where, reason))
                continue
            for address, _ in sitemap.sitemaps:
                child = self._frontier.resolve(address, where)
                if child is not None and self._frontier.mark_known(child):
                    waiting.append((child, None))
            for address, modified in sitemap.pages:
                self._frontier.offer(address, base=where, modified=modified)
        if waiting:
            self._frontier.skipped[f"over the limit of {MAX_SITEMAPS} sitemaps"] += len(waiting)

    def _fetch(self, url: str) -> bytes:
        try:
            reply = self._client.get(url, redirect=self._redirect, max_bytes=MAX_BYTES)
        except FetchError as exc:
            raise FetchError(f"could not be fetched ({exc})") from exc
        if reply.status != 200:
            raise FetchError(f"could not be fetched (status {reply.status})")
        return reply.body
