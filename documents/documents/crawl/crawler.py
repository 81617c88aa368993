"""The crawl: from an address to the pages of a site in the cache, one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection

from documents.crawl.cache import Cache, Entry
from documents.crawl.frontier import Frontier
from documents.crawl.kinds import HTML
from documents.crawl.listing import Listing
from documents.crawl.missing import SAME, NotFoundPage
from documents.crawl.replies import Client, Exhausted, Trouble
from documents.crawl.robots import Rules
from documents.crawl.scope import ANOTHER_HOST, Scope
from documents.crawl.visit import NotTaken, VisitedPage, copy_of, visit
from documents.crawl.world import World
from documents.errors import Unreadable
from documents.values import MIB, Failure, Limits

STOPS_AFTER = 5
"""Addresses in a row without an answer after which a site is left alone."""

type OnProgress = Callable[[int, int | None], None]


class Crawl:
    """One crawl as it goes. ``pages`` are what was found, by address, in the order of finding."""

    def __init__(self, *, start: str, client: Client, cache: Cache, rules: Rules, limits: Limits, world: World) -> None:
        self.pages: dict[str, VisitedPage] = {}
        self._start, self._rules, self._limits, self._world = start, rules, limits, world
        self._client, self._cache = client, cache
        self._scope = Scope(start)
        self._failed: list[Failure] = []
        self._silent_in_a_row = 0
        self._not_found = NotFoundPage(client, rules)
        self.frontier = Frontier(scope=self._scope, rules=rules, max_pages=limits.pages)
        self._listing = Listing(client=client, frontier=self.frontier, hop=self._hop_of_sitemap)

    @property
    def failed(self) -> tuple[Failure, ...]:
        """What could not be fetched, and what was done about it."""
        return (*self._failed, *self._listing.failed)

    def run(self, on_progress: OnProgress) -> None:
        """Visit the address that was given and all that it leads to.

        Raises:
            Unreadable: it is no place to begin at.
        """
        if not self._rules.allow(self._start):
            raise Unreadable(f"{self._start} is not read: the site's robots.txt does not allow it to ragctl")
        try:
            self._visit(self.frontier.begin(self._start), first=True)
            self._work(on_progress)
            if self.failed:
                # What was not met may be gone, or only be linked from what failed: it is asked for itself.
                self.frontier.add_known_before([entry.url for entry in self._cache.entries()])
                self._work(on_progress)
        except Exhausted:
            reason = f"over the limit of {self._limits.bytes_total / MIB:g} MiB in all"
            left = self.frontier.close()
            self.frontier.skipped[reason] += max(len(left), 1)
            self._keep_rest(left)

    def _work(self, on_progress: OnProgress) -> None:
        while True:
            listed = None if self._scope.follow else self.frontier.asked + len(self.frontier)
            on_progress(self.frontier.asked, listed)
            if not self.frontier:
                return
            if self._silent_in_a_row >= STOPS_AFTER:
                self._leave_alone()
                return
            self._visit(self.frontier.pop())

    def _visit(self, url: str, *, first: bool = False) -> None:
        if url in self.pages:  # a redirect led there before its turn came
            return
        hop = self._scope.first_hop if first else self._hop
        try:
            visited = visit(url, client=self._client, cache=self._cache, world=self._world, hop=hop, first=first)
        except NotTaken as exc:
            if first:
                wanted = "give the address of a page, a folder of pages or a sitemap"
                raise Unreadable(f"{url} is not read ({exc}): {wanted}") from exc
            self._silent_in_a_row = 0
            self.frontier.skipped[str(exc)] += 1
        except Exhausted:
            self.frontier.put_back(url)
            raise
        except Trouble as exc:
            self._silent_in_a_row = 0 if exc.answered else self._silent_in_a_row + 1
            self._name(url, str(exc))
        else:
            self._silent_in_a_row = 0
            if first:
                self._begin(visited)
            elif self._says_not_found(visited):
                self.frontier.skipped[SAME] += 1
                return
            self._take(url, visited)

    def _says_not_found(self, visited: VisitedPage) -> bool:
        entry = visited.entry
        if entry is None or entry.suffix != HTML:
            return False
        return self._not_found.is_meant(visited.url, self._cache.file(entry).read_bytes())

    def _begin(self, visited: VisitedPage) -> None:
        self._scope.begin(visited.url)
        if visited.sitemap:
            self._scope.follow = False
            self._listing.read(visited.url, visited.sitemap)
        elif self._scope.follow:
            for listed in self._rules.sitemaps:
                address = self.frontier.placed(listed, visited.url)
                if address is not None and self.frontier.know(address):
                    self._listing.read(address)

    def _take(self, url: str, visited: VisitedPage) -> None:
        self.frontier.know(visited.url)
        if visited.entry is not None:
            self.pages.setdefault(visited.url, visited.without_links())
            if changed := self.frontier.changed.get(url):
                self.frontier.changed[visited.url] = changed
        elif visited.reason:
            self.frontier.skipped[visited.reason] += 1
        if self._scope.follow:
            for link in visited.said.links:
                self.frontier.offer(link, base=visited.url, found_in_page=True)

    def _hop(self, target: str) -> str:
        url = self._scope.site.take(target)
        if url is None:
            raise NotTaken(ANOTHER_HOST)
        if reason := self.frontier.refusal(url):
            raise NotTaken(reason)
        if url in self.pages:
            raise NotTaken("leads to a page that is here")
        return url

    def _hop_of_sitemap(self, target: str) -> str:
        url = self._scope.site.take(target)
        if url is None:
            raise Trouble(f"it leads to {target}, on {ANOTHER_HOST}", answered=True)
        return url

    def _name(self, url: str, reason: str) -> None:
        entry = self._cache.entry(url)
        if entry is None:
            self._failed.append(Failure(url, f"could not be fetched: {reason}"))
        else:
            kept = f"the copy of {entry.fetched[:10]} is kept"
            self._failed.append(Failure(url, f"could not be fetched now ({reason}): {kept}"))
            self._keep(entry)

    def _keep(self, entry: Entry) -> None:
        self._take(entry.url, copy_of(entry, self._cache))

    def _leave_alone(self) -> None:
        """Ask for nothing more, and keep what is known of the rest."""
        left = self.frontier.close()
        kept = self._keep_rest(left)
        sentence = (
            f"the site gave no answer {STOPS_AFTER} times in a row and was left alone: {len(left)} addresses were not "
            f"asked for, {kept} pages of the run before are kept; run the same command again later"
        )
        self._failed.append(Failure(self._start, sentence))

    def _keep_rest(self, left: Collection[str]) -> int:
        """Keep what is known of the addresses that were ``left``, and of those that were not met; how many."""
        self._scope.follow = False
        kept = 0
        for entry in self._cache.entries():
            unmet = entry.url in left or entry.url not in self.frontier
            if unmet and entry.url not in self.pages and not self.frontier.refusal(entry.url):
                self._keep(entry)
                kept += 1
        return kept
