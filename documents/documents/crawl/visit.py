"""One visit: fetch an address, with conditions if it is cached, and decide whether its body is a page to index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup

from documents.crawl import content
from documents.crawl.addresses import normalise_url, short_hash
from documents.crawl.cache import Cache, Entry, digest
from documents.crawl.client import ByteLimitReached, Client, FetchError, HttpReply, SystemAccess
from documents.crawl.content import HTML, PageLinks
from documents.crawl.robots import parse_directives

GONE = (404, 410)
NOT_FOUND = "the page that the site has for addresses that do not exist"
_WORD = re.compile(r"[^\W\d_]+")  # no digits: such pages say the time, or a number for the operator
_INVISIBLE_TAGS = ["script", "style", "noscript", "template"]
_STATUS_REASONS = {401: "it asks for a password", 403: "the server refuses it", 429: "too many requests"}


class SkipPage(Exception):
    """An address without a page to index; the message is the reason that is counted. Not a failure."""


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A visited page. ``entry`` is None if the page is not indexed (``reason``) and only its links count.

    ``sitemap`` is the body if it is a sitemap.
    """

    url: str
    entry: Entry | None = None
    links: PageLinks = PageLinks()  # noqa: RUF009  # frozen
    reason: str = ""
    sitemap: bytes = b""


def visit(
    url: str, *, client: Client, cache: Cache, system: SystemAccess, redirect: Callable[[str], str], is_start: bool
) -> VisitedPage:
    """Fetch ``url``. ``is_start``: it is the given address, which may be a sitemap.

    Raises:
        SkipPage: it is gone, its type is not read, or ``redirect`` refuses the target of a redirect.
        FetchError: it could not be fetched now.
        ByteLimitReached: the bytes of the whole crawl are used up.
    """

    def conditions(address: str) -> dict[str, str]:
        entry = cache.entry(address)
        return entry.conditions if entry else {}

    max_bytes = content.MAX_SITEMAP_BYTES if is_start and url.endswith((".xml", ".xml.gz")) else None
    reply = client.get(url, redirect=redirect, conditions=conditions, max_bytes=max_bytes)
    fetched = system.now().isoformat(timespec="seconds")
    if reply.status == 304:
        entry = cache.entry(reply.url)
        if entry is None:
            raise FetchError("the server says that it is unchanged, and it is not in the cache")
        entry = replace(entry, fetched=fetched, **_entry_headers(reply, entry))
        cache.store(entry)
        return visit_cached(entry, cache)
    if reply.status in GONE:
        raise SkipPage(f"gone ({reply.status})")
    if reply.status != 200:
        raise FetchError(_status_message(reply), answered=400 <= reply.status < 500 and reply.status != 429)
    if is_start:
        body = content.unpack_sitemap(reply.body)
        if content.is_sitemap(body):
            return VisitedPage(reply.url, sitemap=body)
    return _store_page(reply, cache, fetched)


def visit_cached(entry: Entry, cache: Cache) -> VisitedPage:
    """Return the page from the cache, for an address that is unchanged or cannot be fetched now."""
    return _read_page(entry, cache.file(entry).read_bytes())


def _entry_headers(reply: HttpReply, before: Entry | None = None) -> dict[str, str]:
    """Return the headers of ``reply`` that an entry keeps, else those of the entry ``before``."""
    names = {"etag": "etag", "modified": "last-modified", "robots": "x-robots-tag"}
    return {name: reply.headers.get(header, getattr(before, name, "")) for name, header in names.items()}


def _status_message(reply: HttpReply) -> str:
    if after := reply.headers.get("retry-after", ""):
        return f"status {reply.status}, and the server asks to come back later (Retry-After: {after[:40]})"
    reason = _STATUS_REASONS.get(reply.status)
    return f"status {reply.status}: {reason}" if reason else f"status {reply.status}"


def _store_page(reply: HttpReply, cache: Cache, fetched: str) -> VisitedPage:
    declared, charset = reply.media_type
    suffix = content.file_suffix(reply.body, declared, reply.url)
    if suffix is None:
        raise SkipPage(content.unreadable_type(reply.url) or declared[:60] or "of no declared type")
    body = reply.body
    if suffix == HTML:
        # With a mark, for the page may declare the charset that it had: a byte order mark wins over that.
        body = content.decode_text(body, charset, is_html=True).encode("utf-8-sig", errors="replace")
    elif suffix in content.TEXTS:
        body = content.decode_text(body, charset, is_html=False).encode("utf-8", errors="replace")
    entry = Entry(url=reply.url, suffix=suffix, digest=digest(body), fetched=fetched, **_entry_headers(reply))
    visited = _read_page(entry, body)
    if visited.entry is not None:
        cache.store(entry, body)
    return visited


def _read_page(entry: Entry, body: bytes) -> VisitedPage:
    links = PageLinks()
    if entry.suffix == HTML:
        links = content.read_links(body.decode("utf-8-sig", errors="replace"), entry.url)
    directives = links.directives | parse_directives([entry.robots])
    if "nofollow" in directives:
        links = replace(links, links=())
    if "noindex" in directives:
        return VisitedPage(entry.url, links=links, reason="noindex")
    if links.is_redirect:
        return VisitedPage(entry.url, links=links, reason="only sends its reader on")
    return VisitedPage(entry.url, entry, links)


@dataclass(frozen=True, slots=True)
class NotFoundPage:
    """The host's "not found" page with status 200, by its words: its reply for an address that cannot exist."""

    address: str
    words: Counter[str] | None = None

    @classmethod
    def fetch(cls, neighbour: str, client: Client, is_allowed: Callable[[str], bool]) -> NotFoundPage:
        """Fetch an address in the folder of ``neighbour``, with its suffix: another may be another program's."""
        dot, suffix = urlsplit(neighbour).path.rpartition("/")[2].rpartition(".")[1:]
        name = f"no-{short_hash(neighbour)}-page{dot}{suffix if dot else ''}"
        address = normalise_url(urljoin(neighbour, name))

        def refuse(target: str) -> str:
            raise SkipPage(target)  # a page that is sent on has an address of its own

        try:
            reply = client.get(address, redirect=refuse) if is_allowed(address) else None
        except (FetchError, SkipPage, ByteLimitReached):
            reply = None  # nothing to compare with
        declared, charset = reply.media_type if reply else ("", "")
        if reply is None or reply.status != 200 or content.file_suffix(reply.body, declared, reply.url) != HTML:
            return cls(address)
        return cls(address, _count_words(content.decode_text(reply.body, charset, is_html=True).encode()))

    def matches(self, url: str, body: bytes) -> bool:
        """Whether the HTML ``body`` (UTF-8) of ``url`` has the same words, except those of the two addresses."""
        if self.words is None:
            return False
        ignored = {word for address in (url, self.address) for word in _WORD.findall(unquote(address).casefold())}
        words, expected = _count_words(body), self.words
        return all(words[word] == expected[word] for word in (words.keys() | expected.keys()) - ignored)


def _count_words(html: bytes) -> Counter[str]:
    page = BeautifulSoup(html.decode("utf-8-sig", errors="replace"), content.PARSER)
    for tag in page(_INVISIBLE_TAGS):
        tag.decompose()
    return Counter(_WORD.findall(page.get_text(" ").casefold()))
