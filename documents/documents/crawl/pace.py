"""How fast a site is asked, and how long to wait when it asks for patience."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from documents.crawl.world import World

MAX_CRAWL_DELAY_S = 30.0
"""A longer ``Crawl-delay`` than this counts as this: a thousand pages take eight hours then."""
MAX_RETRY_AFTER_S = 60.0
TRIES = 3
_PATIENCE = (429, 502, 503, 504)


class Pace:
    """Keeps requests apart. ``per_second`` is requests each second, above 0."""

    def __init__(self, *, per_second: float, world: World) -> None:
        self._interval_s = 1 / per_second
        self._world = world
        self._next = float("-inf")

    def slow_down(self, crawl_delay_s: float | None) -> None:
        """Wait at least this long between requests from now on, within reason."""
        self._interval_s = max(self._interval_s, min(crawl_delay_s or 0.0, MAX_CRAWL_DELAY_S))

    def before_request(self) -> None:
        """Return when the next request may be sent."""
        wait_s = self._next - self._world.clock()
        if wait_s > 0:
            self._world.sleep(wait_s)
        self._next = self._world.clock() + self._interval_s

    @staticmethod
    def asks_for_patience(status: int) -> bool:
        """Whether a reply of this ``status`` may be another one soon."""
        return status in _PATIENCE

    def before_again(self, attempt: int, retry_after: str = "") -> bool:
        """Wait after the failed attempt number ``attempt`` (from 1), as long as the server said; False: give up."""
        wait_s = self._seconds(retry_after, otherwise=2.0 ** (attempt - 1))
        if attempt >= TRIES or wait_s > MAX_RETRY_AFTER_S:
            return False
        self._world.sleep(wait_s)
        return True

    def _seconds(self, retry_after: str, *, otherwise: float) -> float:
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return otherwise
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - self._world.now()).total_seconds())
