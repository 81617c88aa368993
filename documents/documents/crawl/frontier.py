"""Which addresses a crawl still has to ask for, and a count of those that it does not ask for, by reason."""

from __future__ import annotations

from collections import Counter, deque

from documents.crawl.addresses import NotWeb, normal
from documents.crawl.robots import Rules
from documents.crawl.scope import ANOTHER_HOST, Scope

MAX_KNOWN = 200_000
"""Addresses that are remembered as met; what a trap of endless links adds after that is not even counted."""


class Frontier:
    """A queue in the order of finding, each address once. ``changed`` is when a sitemap says that one changed (ISO)."""

    def __init__(self, *, scope: Scope, rules: Rules, max_pages: int) -> None:
        self.changed: dict[str, str] = {}
        self.skipped: Counter[str] = Counter()
        self.asked = 0
        self._scope, self._rules, self._max_pages = scope, rules, max_pages
        self._queue: deque[str] = deque()
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, url: str) -> bool:
        return url in self._known

    def begin(self, url: str) -> str:
        """``url``, the first address; it counts as asked for, whatever it looks like."""
        self.asked += 1
        self._known.add(url)
        return url

    def pop(self) -> str:
        """The next address; it counts as asked for."""
        self.asked += 1
        return self._queue.popleft()

    def put_back(self, url: str) -> None:
        """``url`` was not asked for after all."""
        self._queue.appendleft(url)

    def know(self, url: str) -> bool:
        """Remember ``url`` as met; whether that is new."""
        new = url not in self._known and len(self._known) < MAX_KNOWN
        if new:
            self._known.add(url)
        return new

    def placed(self, address: str, base: str) -> str | None:
        """``address`` as it is read on the site; None (and counted) when it is elsewhere."""
        try:
            url = normal(address, base=base)
        except NotWeb as exc:
            self.skipped[f"an address that {exc}"] += 1
            return None
        placed = self._scope.site.take(url)
        if placed is None and self.know(url):
            self.skipped[ANOTHER_HOST] += 1
        return placed

    def offer(self, address: str, *, base: str, changed: str = "", found_in_page: bool = False) -> None:
        """Put ``address`` in the queue, or count why not."""
        url = self.placed(address, base)
        if url is None or not self.know(url):
            return
        if reason := self.refusal(url, found_in_page=found_in_page):
            self.skipped[reason] += 1
        elif self.asked + len(self._queue) >= self._max_pages:
            self.skipped[f"over the limit of {self._max_pages} pages"] += 1
        else:
            self._queue.append(url)
            self.changed[url] = changed

    def refusal(self, url: str, *, found_in_page: bool = False) -> str:
        """Why ``url`` is not asked for; ``""`` when it is."""
        reason = self._scope.refusal(url, found_in_page=found_in_page)
        return reason or ("" if self._rules.allow(url) else "disallowed by robots.txt")

    def add_known_before(self, urls: list[str]) -> None:
        """Put pages of an earlier run in the queue that were not met in this one."""
        self._queue.extend(url for url in urls if not self.refusal(url) and self.know(url))

    def close(self) -> list[str]:
        """Empty the queue: what was in it."""
        left = list(self._queue)
        self._queue.clear()
        return left
