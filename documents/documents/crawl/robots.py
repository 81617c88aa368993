"""What robots may read: robots.txt (RFC 9309, parsed by Protego), and directives in headers and pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin

from protego import Protego

from documents.crawl.client import USER_AGENT, ByteLimitReached, Client, FetchError

_WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
MAX_BYTES = 500 * 1024
"""The least that RFC 9309 asks a robot to read."""


class RobotsUnavailable(Exception):
    """A robots.txt that could not be read, so that nothing is allowed; the message is the reason."""

    def __init__(self, reason: str, *, private: bool = False) -> None:
        super().__init__(reason)
        self.private = private


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """A site's robots.txt, as it applies to this program."""

    parsed: Protego

    def is_allowed(self, url: str) -> bool:
        """Whether ``url`` may be fetched."""
        return bool(self.parsed.can_fetch(url, USER_AGENT))

    @property
    def delay_s(self) -> float | None:
        """Seconds between two requests."""
        delay = self.parsed.crawl_delay(USER_AGENT)
        rate = self.parsed.request_rate(USER_AGENT)
        delays = [float(delay)] if delay is not None else []
        return max(delays + ([rate.seconds / rate.requests] if rate else []), default=None)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The addresses of sitemaps, as written."""
        return tuple(self.parsed.sitemaps)


def fetch_rules(client: Client, site: str) -> RobotsRules:
    """Return the rules of the site of the address ``site``. A site without robots.txt (4xx) allows everything.

    Raises:
        RobotsUnavailable: the server fails or asks for a retry; RFC 9309 takes that as a refusal.
    """
    try:
        reply = client.get(robots_url(site))  # RFC 9309: follow redirects even to other hosts
    except FetchError as exc:
        raise RobotsUnavailable(str(exc), private=exc.private) from exc
    except ByteLimitReached as exc:
        raise RobotsUnavailable("it alone is over the limit of bytes in all") from exc
    if reply.status == 429 or not 200 <= reply.status < 500:
        raise RobotsUnavailable(f"status {reply.status}")
    text = reply.body[:MAX_BYTES].decode("utf-8-sig", errors="replace") if reply.status == 200 else ""
    return RobotsRules(Protego.parse(text))


def robots_url(site: str) -> str:
    """Return the address of the robots.txt for the site of the address ``site``."""
    return urljoin(site, "/robots.txt")


def parse_directives(values: Iterable[str]) -> frozenset[str]:
    """Return the directives for this robot in ``X-Robots-Tag`` headers or in ``<meta name="robots">``.

    A word before a colon names the robot that the words after it are for; ``none`` is ``noindex`` and ``nofollow``.
    """
    directives: set[str] = set()
    for value in values:
        agent = ""
        for word in value.lower().split(","):
            name, colon, rest = (part.strip() for part in word.partition(":"))
            if not colon or name in _WITH_VALUE:
                rest = name
            else:
                agent = name
            if agent in ("", USER_AGENT, "*"):
                directives.add(rest)
    return frozenset(directives | {"noindex", "nofollow"} if "none" in directives else directives)
