"""Which addresses belong to a crawl: the same host, below the folder that was given, of a kind that is read."""

from __future__ import annotations

from urllib.parse import urlsplit

from documents.crawl import kinds
from documents.crawl.addresses import Site, folder
from documents.errors import Unreadable

ANOTHER_HOST = "another host"
_SOURCES = "/_sources/"
"""Where Sphinx puts a copy of each page's source. All 4 Sphinx sites that were looked at link to theirs, one of them to
69 copies beside its 131 pages: each would be in the index twice."""


class Scope:
    """Where a crawl goes. It is the given address' until ``begin`` says where that led."""

    def __init__(self, start: str) -> None:
        self._start = start
        self.begin(start)
        self.follow = self._folder is not None

    def begin(self, url: str) -> None:
        """The given address was found at ``url`` after redirects."""
        self.site = Site.of(url)
        self._folder = folder(url)
        self.follow = self._folder is not None

    def first_hop(self, target: str) -> str:
        """Where a redirect of the given address leads, if that is on the same host.

        Raises:
            Unreadable: it is not; a person has to say that they mean that host.
        """
        parts = urlsplit(target)
        same = (parts.hostname, parts.port) == (self.site.host, self.site.port)
        if same and (parts.scheme == "https" or not self.site.secure):
            return target
        raise Unreadable(f"{self._start} leads to {target}, on another host: give that address if you mean it")

    def refusal(self, url: str, *, found_in_page: bool) -> str:
        """Why ``url`` is not asked for, ``""`` when it is.

        Links with a query are not followed: the 1,600 links inside 17 built documentation sites that were looked at
        had none, while calendars, sort orders and "reply to" links have nothing else. Sitemaps may list them.
        """
        if self.site.take(url) is None:
            return ANOTHER_HOST
        parts = urlsplit(url)
        if self.follow and self._folder is not None and not self._is_inside(parts.path):
            return "outside the folder"
        if found_in_page and _SOURCES in parts.path:
            return "the source of a page"
        if found_in_page and parts.query:
            return "a link with a query"
        return kinds.of_name(url)

    def _is_inside(self, path: str) -> bool:
        return self._folder is not None and (path.startswith(self._folder) or path == self._folder.rstrip("/"))
