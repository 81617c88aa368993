"""robots.txt as RFC 9309 says, with Protego; and what a page says of itself to robots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin

from protego import Protego

from documents.crawl.replies import USER_AGENT, Client, Exhausted, Trouble

_WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
MAX_BYTES = 500 * 1024
"""What RFC 9309 asks a robot to read at least."""


class Unreachable(Exception):
    """It is not known what the site allows, so nothing is; the message says why."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Rules:
    """What a site's robots.txt lets this program do."""

    parsed: Protego

    def allow(self, url: str) -> bool:
        """Whether ``url`` may be fetched."""
        return bool(self.parsed.can_fetch(url, USER_AGENT))

    @property
    def delay_s(self) -> float | None:
        """Seconds between two requests."""
        delay = self.parsed.crawl_delay(USER_AGENT)
        rate = self.parsed.request_rate(USER_AGENT)
        found = [float(delay)] if delay is not None else []
        return max(found + ([rate.seconds / rate.requests] if rate else []), default=None)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The addresses of sitemaps, as written."""
        return tuple(self.parsed.sitemaps)


def read(client: Client, site: str) -> Rules:
    """The rules of the site that the address ``site`` is on; one without robots.txt (4xx) allows everything.

    Raises:
        Unreachable: the server fails or asks for patience; RFC 9309 says to take that as a refusal.
    """
    try:
        reply = client.get(address(site))  # RFC 9309: follow redirects even to other hosts
    except Trouble as exc:
        raise Unreachable(str(exc), refused=exc.refused) from exc
    except Exhausted as exc:
        raise Unreachable("it alone is over the limit of bytes in all") from exc
    if reply.status == 429 or not 200 <= reply.status < 500:
        raise Unreachable(f"status {reply.status}")
    text = reply.body[:MAX_BYTES].decode("utf-8-sig", errors="replace") if reply.status == 200 else ""
    return Rules(Protego.parse(text))


def address(site: str) -> str:
    """Where the robots.txt of the site that the address ``site`` is on stands."""
    return urljoin(site, "/robots.txt")


def directives(values: Iterable[str]) -> frozenset[str]:
    """The words of ``X-Robots-Tag`` headers or of ``<meta name="robots">`` that are meant for every robot or for this.

    A word before a colon names the robot that the words after it are for; ``none`` is ``noindex`` and ``nofollow``.
    """
    found: set[str] = set()
    for value in values:
        agent = ""
        for word in value.lower().split(","):
            name, colon, rest = (part.strip() for part in word.partition(":"))
            if not colon or name in _WITH_VALUE:
                rest = name
            else:
                agent = name
            if agent in ("", USER_AGENT, "*"):
                found.add(rest)
    return frozenset(found | {"noindex", "nofollow"} if "none" in found else found)
