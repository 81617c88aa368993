"""The crawl: from an address to the pages of a site in the cache, one request after the other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from filelock import FileLock, Timeout

from documents.crawl.addresses import WebOrigin, page_name, parse_address, short_hash
from documents.crawl.cache import Cache, Entry
from documents.crawl.client import ByteLimitReached, Client, FetchError, SystemAccess
from documents.crawl.content import HTML, MAX_SITEMAP_BYTES, parse_sitemap, unpack_sitemap
from documents.crawl.frontier import ANOTHER_HOST, Frontier
from documents.crawl.robots import fetch_rules, robots_url
from documents.crawl.visit import NOT_FOUND, NotFoundPage, SkipPage, VisitedPage, visit, visit_cached
from documents.errors import Unreadable
from documents.values import MIB, CrawlResult, FetchFailure, Limits, Page

MAX_SILENT_REPLIES = 5
"""Addresses in a row without an answer after which the crawl stops."""
MAX_SITEMAPS = 500

type OnProgress = Callable[[int, int | None], None]


def crawl(
    address: str,
    *,
    cache: Path,
    limits: Limits,
    allow_hosts: frozenset[str] = frozenset(),
    on_progress: OnProgress | None = None,
    system: SystemAccess | None = None,
) -> CrawlResult:
    """Fetch the pages of a sitemap, the pages of a folder, or one page.

    ``cache`` is a folder for this program alone; each address has its own folder in it, and later runs ask only for
    changes. A run that is stopped leaves it usable. ``allow_hosts`` names hosts that may have addresses outside the
    public internet. ``on_progress`` gets the number of fetched addresses, and the number of all if that is known.

    Raises:
        Unreadable: the address is malformed, private, not allowed by robots.txt, or leads to another host.
    """
    start = parse_address(address)
    folder = cache / f"{WebOrigin.from_url(start).host.replace(':', '_')}-{short_hash(start)}"
    folder.mkdir(parents=True, exist_ok=True)
    system = system or SystemAccess()
    try:
        with (
            FileLock(folder / ".lock", timeout=0),
            Client(limits=limits, allow_hosts=allow_hosts, system=system) as client,
        ):
            return _crawl(start, client, Cache(folder), limits, on_progress or (lambda _fetched, _total: None), system)
    except Timeout as exc:
        raise Unreadable(f"{start} is being read by another ragctl: wait until it is done") from exc


def _crawl(
    start: str, client: Client, cache: Cache, limits: Limits, on_progress: OnProgress, system: SystemAccess
) -> CrawlResult:
    try:
        rules = fetch_rules(client, start)
    except FetchError as exc:
        return _cached_result(start, exc, cache)
    frontier = Frontier(start, rules=rules, max_pages=limits.pages)
    crawler = Crawler(start=start, client=client, cache=cache, frontier=frontier, limits=limits, system=system)
    crawler.run(on_progress)
    visits = list(crawler.pages.values())
    pages = _result_pages(visits, modified=frontier.modified, cache=cache)
    if duplicates := len(visits) - len(pages):
        frontier.skipped["the same page at another address"] += duplicates
    cache.prune([visited.entry for visited in visits if visited.entry])
    return CrawlResult(pages, tuple(crawler.failed), _lost_names(crawler.failed), dict(frontier.skipped))


def _cached_result(start: str, error: FetchError, cache: Cache) -> CrawlResult:
    """Return the pages of the run before, for a site whose robots.txt could not be read."""
    if error.private:
        raise Unreadable(f"{start} is not read: {error}") from error
    visits = [visit_cached(entry, cache) for entry in cache.entries()]
    kept = f": what the run before found is kept (pages: {len(visits)})" if visits else ""
    sentence = (
        f"could not be fetched ({error}), and a site whose robots.txt cannot be asked for is not read{kept}; "
        "run the same command again later"
    )
    failed = (FetchFailure(robots_url(start), sentence),)
    return CrawlResult(_result_pages(visits, modified={}, cache=cache), failed, _lost_names(failed))


def _lost_names(failed: Sequence[FetchFailure]) -> frozenset[str]:
    return frozenset(page_name(failure.path, ".html") for failure in failed)


class Crawler:
    """One crawl in progress.

    ``pages`` has the pages by address, in the order of discovery; ``failed`` the addresses that could not be fetched,
    each with the reason and whether a copy is kept.
    """

    def __init__(
        self, *, start: str, client: Client, cache: Cache, frontier: Frontier, limits: Limits, system: SystemAccess
    ) -> None:
        self.pages: dict[str, VisitedPage] = {}
        self.failed: list[FetchFailure] = []
        self._start, self._client, self._cache, self._frontier = start, client, cache, frontier
        self._limits, self._system = limits, system
        self._silent_in_a_row = self._sitemap_count = 0
        self._not_found: NotFoundPage | None = None  # fetched with the first page that is compared

    def run(self, on_progress: OnProgress) -> None:
        """Visit the given address and all that it leads to.

        Raises:
            Unreadable: a crawl cannot start there.
        """
        frontier = self._frontier
        if not frontier.is_allowed(self._start):
            raise Unreadable(f"{self._start} is not read: the site's robots.txt does not allow it to ragctl")
        try:
            frontier.known.add(self._start)
            self._visit(self._start, is_start=True)
            self._empty_queue(on_progress)
            if self.failed:
                # Cached pages that were not found may be gone, or only be linked from what failed: fetch them too.
                cached = [entry.url for entry in self._cache.entries() if not frontier.refusal(entry.url)]
                frontier.queue.extend(filter(frontier.mark_known, cached))
                self._empty_queue(on_progress)
        except ByteLimitReached:
            count, _ = self._keep_cached()
            frontier.skipped[f"over the limit of {self._limits.bytes_total / MIB:g} MiB in all"] += max(count, 1)

    def _empty_queue(self, on_progress: OnProgress) -> None:
        frontier = self._frontier
        while True:
            total = None if frontier.follow_links else frontier.asked + len(frontier.queue)
            on_progress(frontier.asked, total)
            if not frontier.queue:
                return
            if self._silent_in_a_row >= MAX_SILENT_REPLIES:
                self._stop_early()
                return
            self._visit(frontier.queue.popleft())

    def _visit(self, url: str, *, is_start: bool = False) -> None:
        frontier = self._frontier
        frontier.asked += 1
        if url in self.pages:  # a redirect led there before its turn came
            return
        redirect = frontier.redirect_start if is_start else self._redirect
        try:
            visited = visit(
                url, client=self._client, cache=self._cache, system=self._system, redirect=redirect, is_start=is_start
            )
        except SkipPage as exc:
            if is_start:
                wanted = "give the address of a page, a folder of pages or a sitemap"
                raise Unreadable(f"{url} is not read ({exc}): {wanted}") from exc
            self._silent_in_a_row = 0
            frontier.skipped[str(exc)] += 1
        except ByteLimitReached:
            frontier.queue.appendleft(url)
            raise
        except FetchError as exc:
            self._silent_in_a_row = 0 if exc.answered else self._silent_in_a_row + 1
            self._record_failure(url, str(exc))
        else:
            self._silent_in_a_row = 0
            if is_start:
                self._begin(visited)
            elif self._is_not_found(visited):
                frontier.skipped[NOT_FOUND] += 1
                return
            self._add(url, visited)

    def _is_not_found(self, visited: VisitedPage) -> bool:
        entry = visited.entry
        if entry is None or entry.suffix != HTML:
            return False
        self._not_found = self._not_found or NotFoundPage.fetch(visited.url, self._client, self._frontier.is_allowed)
        return self._not_found.matches(visited.url, self._cache.file(entry).read_bytes())

    def _begin(self, visited: VisitedPage) -> None:
        frontier = self._frontier
        frontier.move_to(visited.url)
        if visited.sitemap:
            frontier.follow_links = False
            self._read_sitemaps(visited.url, visited.sitemap)
        elif frontier.follow_links:
            for listed in frontier.sitemaps:
                if address := frontier.discover(listed, visited.url):
                    self._read_sitemaps(address)

    def _read_sitemaps(self, url: str, body: bytes | None = None) -> None:
        """Read the sitemap at ``url`` and those that it names. ``body`` is its text if it was fetched before."""
        waiting: deque[tuple[str, bytes | None]] = deque([(url, body)])
        while waiting and self._sitemap_count < MAX_SITEMAPS:
            self._sitemap_count += 1
            where, text = waiting.popleft()
            try:
                if text is None:
                    reply = self._client.get(where, redirect=self._redirect_sitemap, max_bytes=MAX_SITEMAP_BYTES)
                    if reply.status != 200:
                        raise FetchError(f"status {reply.status}")
                    text = reply.body
                entries = parse_sitemap(unpack_sitemap(text))
            except FetchError as exc:
                reason = f"this sitemap could not be read ({exc}): the pages that only it lists are not known"
                self.failed.append(FetchFailure(where, reason))
                continue
            for address, _ in entries["sitemap"]:
                if child := self._frontier.discover(address, where):
                    waiting.append((child, None))
            for address, modified in entries["url"]:
                self._frontier.offer(address, base=where, modified=modified)
        if waiting:
            self._frontier.skipped[f"over the limit of {MAX_SITEMAPS} sitemaps"] += len(waiting)

    def _add(self, url: str, visited: VisitedPage) -> None:
        frontier = self._frontier
        frontier.mark_known(visited.url)
        if visited.entry is not None:
            # Without its links, which are many: the queue has them.
            page = replace(visited, links=replace(visited.links, links=()))
            self.pages.setdefault(visited.url, page)
            if modified := frontier.modified.get(url):
                frontier.modified[visited.url] = modified
        elif visited.reason:
            frontier.skipped[visited.reason] += 1
        if frontier.follow_links:
            for link in visited.links.links:
                frontier.offer(link, base=visited.url, found_in_page=True)

    def _redirect(self, target: str) -> str:
        url = self._frontier.origin.match_url(target)
        if url is None:
            raise SkipPage(ANOTHER_HOST)
        if reason := self._frontier.refusal(url):
            raise SkipPage(reason)
        if url in self.pages:
            raise SkipPage("leads to a page that is here")
        return url

    def _redirect_sitemap(self, target: str) -> str:
        url = self._frontier.origin.match_url(target)
        if url is None:
            raise FetchError(f"it leads to {target}, on {ANOTHER_HOST}", answered=True)
        return url

    def _record_failure(self, url: str, reason: str) -> None:
        entry = self._cache.entry(url)
        if entry is None:
            self.failed.append(FetchFailure(url, f"could not be fetched: {reason}"))
        else:
            kept = f"the copy of {entry.fetched[:10]} is kept"
            self.failed.append(FetchFailure(url, f"could not be fetched now ({reason}): {kept}"))
            self._add(url, visit_cached(entry, self._cache))

    def _stop_early(self) -> None:
        count, kept = self._keep_cached()
        sentence = (
            f"the site gave no answer {MAX_SILENT_REPLIES} times in a row and was left alone: {count} "
            f"addresses were not asked for, {kept} pages of the run before are kept; run the same command again later"
        )
        self.failed.append(FetchFailure(self._start, sentence))

    def _keep_cached(self) -> tuple[int, int]:
        """Fetch nothing more, keep the cached copies of the rest, and return the numbers of the rest and of these."""
        frontier = self._frontier
        remaining = {*frontier.queue}
        frontier.queue.clear()
        frontier.follow_links = False
        kept = 0
        for entry in self._cache.entries():
            is_unvisited = entry.url in remaining or entry.url not in frontier.known
            if is_unvisited and entry.url not in self.pages and not frontier.refusal(entry.url):
                self._add(entry.url, visit_cached(entry, self._cache))
                kept += 1
        return len(remaining), kept


def _result_pages(visits: Sequence[VisitedPage], *, modified: Mapping[str, str], cache: Cache) -> tuple[Page, ...]:
    """Return the pages of ``visits`` in their order, each text once; ``modified``: last changes by the sitemaps."""
    unique: dict[str, tuple[Entry, str]] = {}
    for visited in visits:
        if visited.entry is not None:
            canonical = visited.links.canonical
            is_same_host = urlsplit(canonical).netloc == urlsplit(visited.url).netloc
            unique.setdefault(visited.entry.digest, (visited.entry, canonical if is_same_host else ""))
    entries = [entry for entry, _ in unique.values()]
    urls = {entry.url for entry in entries}
    claims = Counter(canonical for _, canonical in unique.values() if canonical)
    names = _unique_names(entries)
    return tuple(
        Page(
            # A canonical address that several pages claim is a mistake of the site's, not one page with several names.
            url=canonical if claims[canonical] == 1 and canonical not in urls else entry.url,
            file=cache.file(entry),
            path=names[entry.url],
            last_modified=modified.get(entry.url) or _iso_date(entry.modified),
        )
        for entry, canonical in unique.values()
    )


def _unique_names(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the page name of each address; of equal names all but the literal path get a hash of the address."""
    names = {entry.url: page_name(entry.url, entry.suffix) for entry in entries}
    counts = Counter(names.values())
    for url, name in names.items():
        parts, path = urlsplit(url), PurePosixPath(name)
        is_literal = not parts.query and name.endswith(unquote(parts.path)) and not parts.path.endswith("/")
        if counts[name] > 1 and not is_literal:
            names[url] = str(path.with_name(f"{path.stem}-{short_hash(url)}{path.suffix}"))
    return names


def _iso_date(last_modified: str) -> str:
    try:
        return parsedate_to_datetime(last_modified).isoformat()
    except ValueError:
        return ""
