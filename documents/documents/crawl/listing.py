"""From the sitemaps of a site to the addresses in a crawl's queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from documents.crawl import sitemap
from documents.crawl.frontier import Frontier
from documents.crawl.replies import Client, Trouble
from documents.values import Failure

MAX_SITEMAPS = 500


class Listing:
    """Reads sitemaps into ``frontier``; ``failed`` names those that could not be read."""

    def __init__(self, *, client: Client, frontier: Frontier, hop: Callable[[str], str]) -> None:
        self.failed: list[Failure] = []
        self._client, self._frontier, self._hop = client, frontier, hop
        self._read = 0

    def read(self, url: str, body: bytes | None = None) -> None:
        """Take in the sitemap at ``url`` and those that it names. ``body`` is its text if that is here already.

        Raises:
            Exhausted: the bytes of the whole crawl are used up.
        """
        waiting: deque[tuple[str, bytes | None]] = deque([(url, body)])
        while waiting and self._read < MAX_SITEMAPS:
            self._read += 1
            where, text = waiting.popleft()
            try:
                found = sitemap.parse(sitemap.unpacked(self._fetched(where) if text is None else text))
            except (sitemap.BadSitemap, Trouble) as exc:
                self.failed.append(Failure(where, f"this sitemap {exc}: the pages that only it lists are not known"))
                continue
            for address, _ in found.sitemaps:
                child = self._frontier.placed(address, where)
                if child is not None and self._frontier.know(child):
                    waiting.append((child, None))
            for address, changed in found.pages:
                self._frontier.offer(address, base=where, changed=changed)
        if waiting:
            self._frontier.skipped[f"over the limit of {MAX_SITEMAPS} sitemaps"] += len(waiting)

    def _fetched(self, url: str) -> bytes:
        try:
            reply = self._client.get(url, hop=self._hop, max_bytes=sitemap.MAX_BYTES)
        except Trouble as exc:
            raise Trouble(f"could not be fetched ({exc})") from exc
        if reply.status != 200:
            raise Trouble(f"could not be fetched (status {reply.status})")
        return reply.body
