"""What robots may read: robots.txt (RFC 9309, parsed by Protego), and directives in headers and pages."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin

from protego import Protego

from documents.crawl.client import USER_AGENT, ByteLimitReached, Client, FetchError

_WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
MAX_BYTES = 500 * 1024
"""The least that RFC 9309 asks a robot to read."""


def fetch_rules(client: Client, site: str) -> Protego:
    """Return the rules of the site of the address ``site``. A site without robots.txt (4xx) allows everything.

    Raises:
        FetchError: the server fails or asks for a retry; RFC 9309 takes that as a refusal.
    """
    try:
        reply = client.get(robots_url(site))  # RFC 9309: follow redirects even to other hosts
    except ByteLimitReached as exc:
        raise FetchError("it alone is over the limit of bytes in all") from exc
    if reply.status == 429 or not 200 <= reply.status < 500:
        raise FetchError(f"status {reply.status}")
    text = reply.body[:MAX_BYTES].decode("utf-8-sig", errors="replace") if reply.status == 200 else ""
    rules = Protego.parse(text)
    delay, rate = rules.crawl_delay(USER_AGENT), rules.request_rate(USER_AGENT)
    client.slow_down(delay or 0.0, rate.seconds / rate.requests if rate else 0.0)
    return rules


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
