"""What an HTML page says to a robot: its links, its canonical address, whether to index it and follow the links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer

from documents.crawl.addresses import NotWeb, normal
from documents.crawl.replies import USER_AGENT
from documents.crawl.robots import directives

_PARSER = "lxml"
"""Python's own takes minutes for 300 KB of ``<a <a <a``, and gives up on ``<![ x ]]>``; a crawl has one process."""

_READ = SoupStrainer(["a", "base", "link", "meta"])


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Addresses are in normal form; ``moved`` is whether the page only sends its reader on."""

    links: tuple[str, ...] = ()
    canonical: str = ""
    directives: frozenset[str] = frozenset()
    moved: bool = False


def read(html: str, url: str) -> PageLinks:
    """What the page ``html``, found at ``url``, says. Links marked ``nofollow`` are left out."""
    page = BeautifulSoup(html, _PARSER, parse_only=_READ)
    base = _base(page, url)
    meta = [
        str(tag.get("content", ""))
        for tag in page.select("meta[name]")
        if str(tag["name"]).strip().lower() in ("robots", USER_AGENT)
    ]
    sent_on = [str(tag.get("content", "")) for tag in page.select('meta[http-equiv="refresh" i]')]
    targets = [found for content in sent_on if (found := _target(content))]
    links = [*_addresses(targets, base), *_addresses(_hrefs(page.select("a[href]")), base)]
    canonical = _addresses(_hrefs(page.select("link[rel~=canonical][href]")), base)
    return PageLinks(tuple(dict.fromkeys(links)), next(canonical, ""), directives(meta), bool(targets))


def _base(page: BeautifulSoup, url: str) -> str:
    tag = page.select_one("base[href]")
    return next(_addresses([str(tag["href"])], url), url) if tag else url


def _target(refresh: str) -> str:
    """Where ``0; url=...`` leads; ``""`` when the page only loads itself again, or lets its reader read first."""
    seconds, _, rest = refresh.partition(";")
    name, _, address = rest.strip().partition("=")
    return address.strip(" '\"") if name.strip().lower() == "url" and seconds.strip() in ("", "0", "1") else ""


def _hrefs(tags: Iterator[Tag] | list[Tag]) -> Iterator[str]:
    for tag in tags:
        if "nofollow" not in (tag.get_attribute_list("rel") or ()):
            yield str(tag["href"])


def _addresses(hrefs: Iterator[str] | list[str], base: str) -> Iterator[str]:
    for href in hrefs:
        try:
            yield normal(href, base=base)
        except NotWeb:
            continue
