"""The frontier of a crawl: its scope, the queue of addresses to fetch, and a count of skipped ones by reason."""

from __future__ import annotations

from collections import Counter, deque
from urllib.parse import urlsplit

from protego import Protego

from documents.crawl.addresses import InvalidAddress, WebOrigin, folder_path, normalise_url
from documents.crawl.client import USER_AGENT
from documents.crawl.content import unreadable_type
from documents.errors import Unreadable

MAX_KNOWN = 200_000
"""Addresses that are remembered; what a trap of endless links adds after that is not even counted."""
ANOTHER_HOST = "another host"
_SOURCES = "/_sources/"
"""Where Sphinx puts a copy of each page's source. All 4 Sphinx sites that were looked at link to theirs, one of them to
69 copies beside its 131 pages: each would be in the index twice."""


class Frontier:
    """A queue in the order of discovery, each address once, all on one origin and in one folder.

    ``known`` has all addresses, ``modified`` the last change of an address by the sitemaps (ISO); ``asked`` counts
    fetched addresses. ``follow_links``: pages are found by links. ``sitemaps`` are those of robots.txt, as written.
    """

    def __init__(self, start: str, *, rules: Protego, max_pages: int) -> None:
        self.modified: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()
        self.asked = 0
        self.queue: deque[str] = deque()
        self.known: set[str] = set()
        self.sitemaps = tuple(rules.sitemaps)
        self._start, self._rules, self._max_pages = start, rules, max_pages
        self.move_to(start)

    def move_to(self, url: str) -> None:
        """Set origin and folder by ``url``, the given address after redirects."""
        self.origin = WebOrigin.from_url(url)
        self._folder = folder_path(url)
        self.follow_links = self._folder is not None

    def redirect_start(self, target: str) -> str:
        """Return the target of a redirect of the given address.

        Raises:
            Unreadable: it is on another host; a person has to say that they mean that host.
        """
        parts = urlsplit(target)
        is_same_host = (parts.hostname, parts.port) == (self.origin.host, self.origin.port)
        if is_same_host and (parts.scheme == "https" or not self.origin.is_secure):
            return target
        raise Unreadable(f"{self._start} leads to {target}, on another host: give that address if you mean it")

    def is_allowed(self, url: str) -> bool:
        """Whether robots.txt allows this program to fetch ``url``."""
        return bool(self._rules.can_fetch(url, USER_AGENT))

    def mark_known(self, url: str) -> bool:
        """Remember ``url``; whether it is new."""
        is_new = url not in self.known and len(self.known) < MAX_KNOWN
        if is_new:
            self.known.add(url)
        return is_new

    def discover(self, address: str, base: str) -> str | None:
        """Return ``address`` in normal form if it is new and on this origin; an address elsewhere is counted."""
        try:
            url = normalise_url(address, base=base)
        except InvalidAddress as exc:
            self.skipped[f"an address that {exc}"] += 1
            return None
        matched = self.origin.match_url(url)
        if not self.mark_known(matched or url):
            return None
        if matched is None:
            self.skipped[ANOTHER_HOST] += 1
        return matched

    def offer(self, address: str, *, base: str, modified: str = "", found_in_page: bool = False) -> None:
        """Put ``address`` in the queue, or count the reason why not."""
        url = self.discover(address, base)
        if url is None:
            return
        if reason := self.refusal(url, found_in_page=found_in_page):
            self.skipped[reason] += 1
        elif self.asked + len(self.queue) >= self._max_pages:
            self.skipped[f"over the limit of {self._max_pages} pages"] += 1
        else:
            self.queue.append(url)
            self.modified[url] = modified

    def refusal(self, url: str, *, found_in_page: bool = False) -> str:
        """Return the reason not to fetch ``url``, ``""`` if there is none.

        Links with a query are not followed: the 1,600 links inside 17 built documentation sites that were looked at
        had none, while calendars, sort orders and "reply to" links have nothing else. Sitemaps may list them.
        """
        if self.origin.match_url(url) is None:
            return ANOTHER_HOST
        path = urlsplit(url).path
        folder = self._folder if self.follow_links else None
        if folder is not None and not path.startswith(folder) and path != folder.rstrip("/"):
            return "outside the folder"
        if found_in_page and _SOURCES in path:
            return "the source of a page"
        if found_in_page and urlsplit(url).query:
            return "a link with a query"
        return unreadable_type(url) or ("" if self.is_allowed(url) else "disallowed by robots.txt")
