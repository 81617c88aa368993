"""Web sites as documents: ``crawl`` fetches a page, a folder of pages or what a sitemap lists into a cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from documents.crawl import robots
from documents.crawl.addresses import Site, given, path_name, short_hash
from documents.crawl.cache import Cache
from documents.crawl.crawler import Crawl, OnProgress
from documents.crawl.pace import Pace
from documents.crawl.replies import Client
from documents.crawl.result import pages
from documents.crawl.visit import copy_of
from documents.crawl.world import World
from documents.errors import Unreadable
from documents.values import CrawlResult, Failure, Limits, Page

__all__ = ["CrawlResult", "Limits", "Page", "crawl"]


def crawl(
    address: str,
    *,
    cache: Path,
    limits: Limits,
    allow_hosts: frozenset[str] = frozenset(),
    on_progress: Callable[[int, int | None], None] | None = None,
    world: World | None = None,
) -> CrawlResult:
    """Fetch what ``address`` stands for: the pages of a sitemap, the pages of a folder, or one page.

    ``cache`` is a folder of this program's; each address has its own folder in it, and later runs ask only for what
    changed. A run that is stopped leaves it usable. ``allow_hosts`` names hosts that may have addresses outside the
    public internet. ``on_progress`` gets how many addresses were asked for, and of how many if that is known.

    Raises:
        Unreadable: the address is not one that can be read: malformed, private, not allowed by robots.txt, or it
            leads to another host.
    """
    start = given(address)
    folder = cache / f"{Site.of(start).host.replace(':', '_')}-{short_hash(start)}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            return _crawl(start, Cache(folder), limits, allow_hosts, on_progress or _silent, world or World())
    except Timeout as exc:
        raise Unreadable(f"{start} is being read by another ragctl: wait until it is done") from exc


def _crawl(
    start: str, cache: Cache, limits: Limits, allow_hosts: frozenset[str], on_progress: OnProgress, world: World
) -> CrawlResult:
    pace = Pace(per_second=limits.per_second, world=world)
    with Client(limits=limits, allow_hosts=allow_hosts, world=world, pace=pace) as client:
        try:
            rules = robots.read(client, start)
        except robots.Unreachable as exc:
            return _without_rules(start, exc, cache)
        pace.slow_down(rules.delay_s)
        crawling = Crawl(start=start, client=client, cache=cache, rules=rules, limits=limits, world=world)
        crawling.run(on_progress)
    visits = list(crawling.pages.values())
    found = pages(visits, changed=crawling.frontier.changed, cache=cache)
    skipped = crawling.frontier.skipped
    if doubles := len(visits) - len(found):
        skipped["the same page at another address"] += doubles
    cache.prune([visited.entry for visited in visits if visited.entry])
    return CrawlResult(pages=found, failed=crawling.failed, lost=_lost(crawling.failed), skipped=dict(skipped))


def _without_rules(start: str, error: robots.Unreachable, cache: Cache) -> CrawlResult:
    if error.refused:
        raise Unreadable(f"{start} is not read: {error}") from error
    visits = [copy_of(entry, cache) for entry in cache.entries()]
    kept = f": what the run before found is kept (pages: {len(visits)})" if visits else ""
    sentence = (
        f"could not be fetched ({error}), and a site whose robots.txt cannot be asked for is not read{kept}; "
        "run the same command again later"
    )
    failed = (Failure(robots.address(start), sentence),)
    return CrawlResult(pages=pages(visits, changed={}, cache=cache), failed=failed, lost=_lost(failed))


def _lost(failed: tuple[Failure, ...]) -> frozenset[str]:
    return frozenset(path_name(failure.path, ".html") for failure in failed)


def _silent(_done: int, _total: int | None) -> None:
    return None
