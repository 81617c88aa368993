"""One address: asked for, with conditions when it is in the cache, and its body taken into the cache or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from documents.crawl import kinds, links, robots, sitemap
from documents.crawl.cache import Cache, Entry, digest
from documents.crawl.replies import Client, Reply, Trouble
from documents.crawl.world import World

GONE = (404, 410)
MAX_TYPE_CHARS = 60


class NotTaken(Exception):
    """An address that holds no page for the index, in good order; the message is the reason to count it by."""


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """``entry`` is None when the page is not for the index (``reason``) and only its links count.

    ``sitemap`` is the body when it turned out to be a sitemap.
    """

    url: str
    entry: Entry | None = None
    said: links.PageLinks = links.PageLinks()  # noqa: RUF009  # frozen
    reason: str = ""
    sitemap: bytes = b""

    def without_links(self) -> VisitedPage:
        """The same, for keeping: links are many, and were used."""
        return replace(self, said=replace(self.said, links=()))


def visit(
    url: str, *, client: Client, cache: Cache, world: World, hop: Callable[[str], str], first: bool
) -> VisitedPage:
    """Fetch ``url``. ``first`` is whether it is the address that was given, which may be a sitemap.

    Raises:
        NotTaken: it is gone, of another kind, or redirects to where ``hop`` does not follow.
        Trouble: it could not be fetched now.
        Exhausted: the bytes of the whole crawl are used up.
    """
    known: dict[str, Entry | None] = {}

    def conditions(address: str) -> dict[str, str]:
        known[address] = cache.entry(address)
        entry = known[address]
        return entry.conditions if entry else {}

    limit = sitemap.MAX_BYTES if first and _looks_like_sitemap(url) else None
    reply = client.get(url, hop=hop, conditions=conditions, max_bytes=limit)
    if reply.status == 304:
        entry = known[reply.url]
        if entry is None:
            raise Trouble("the server says that it is unchanged, and it is not in the cache")
        entry = replace(entry, fetched=world.now().isoformat(timespec="seconds"), **_validators(reply, entry))
        cache.store(entry)
        return _judged(entry, cache.file(entry).read_bytes())
    if reply.status in GONE:
        raise NotTaken(f"gone ({reply.status})")
    if reply.status != 200:
        raise Trouble(_of_status(reply), answered=400 <= reply.status < 500 and reply.status != 429)
    if first:
        body = _unpacked(reply.body)
        if sitemap.is_sitemap(body):
            return VisitedPage(reply.url, sitemap=body)
    return _taken(reply, cache, world)


def copy_of(entry: Entry, cache: Cache) -> VisitedPage:
    """The page as the cache has it, for one that cannot be fetched now."""
    return _judged(entry, cache.file(entry).read_bytes())


def _looks_like_sitemap(url: str) -> bool:
    return url.endswith((".xml", ".xml.gz"))


def _unpacked(body: bytes) -> bytes:
    try:
        return sitemap.unpacked(body)
    except sitemap.BadSitemap as exc:
        raise Trouble(f"it {exc}") from exc


def _taken(reply: Reply, cache: Cache, world: World) -> VisitedPage:
    declared, charset = reply.media_type
    suffix = kinds.suffix(reply.body, declared, reply.url)
    if suffix is None:
        raise NotTaken(kinds.of_name(reply.url) or declared[:MAX_TYPE_CHARS] or "of no declared type")
    body = reply.body
    if suffix == kinds.HTML:
        # With a mark, for the page may declare the charset that it had: a byte order mark wins over that.
        body = kinds.as_text(body, charset, is_html=True).encode("utf-8-sig", errors="replace")
    elif suffix in kinds.TEXTS:
        body = kinds.as_text(body, charset, is_html=False).encode("utf-8", errors="replace")
    entry = Entry(
        url=reply.url,
        suffix=suffix,
        digest=digest(body),
        fetched=world.now().isoformat(timespec="seconds"),
        etag=reply.headers.get("etag", ""),
        modified=reply.headers.get("last-modified", ""),
        robots=reply.headers.get("x-robots-tag", ""),
    )
    visited = _judged(entry, body)
    if visited.entry is not None:
        cache.store(entry, body)
    return visited


def _judged(entry: Entry, body: bytes) -> VisitedPage:
    said = links.PageLinks()
    if entry.suffix == kinds.HTML:
        said = links.read(body.decode("utf-8-sig", errors="replace"), entry.url)
    words = said.directives | robots.directives([entry.robots])
    if "nofollow" in words:
        said = replace(said, links=())
    if "noindex" in words:
        return VisitedPage(entry.url, said=said, reason="noindex")
    if said.moved:
        return VisitedPage(entry.url, said=said, reason="only sends its reader on")
    return VisitedPage(entry.url, entry, said)


def _validators(reply: Reply, entry: Entry) -> dict[str, str]:
    return {
        "etag": reply.headers.get("etag", entry.etag),
        "modified": reply.headers.get("last-modified", entry.modified),
        "robots": reply.headers.get("x-robots-tag", entry.robots),
    }


def _of_status(reply: Reply) -> str:
    after = reply.headers.get("retry-after", "")
    if after:
        return f"status {reply.status}, and the server asks to come back later (Retry-After: {after[:40]})"
    meaning = {401: "it asks for a password", 403: "the server refuses it", 429: "too many requests"}
    if reply.status in meaning:
        return f"status {reply.status}: {meaning[reply.status]}"
    return f"status {reply.status}"
