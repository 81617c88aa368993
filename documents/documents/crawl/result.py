"""From what a crawl found to its pages: each text once, with the address to cite and a stable name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from documents.crawl.addresses import path_name, short_hash
from documents.crawl.cache import Cache, Entry
from documents.crawl.visit import VisitedPage
from documents.values import Page


def pages(visits: Sequence[VisitedPage], *, changed: Mapping[str, str], cache: Cache) -> tuple[Page, ...]:
    """The pages of ``visits`` in their order. ``changed`` is when sitemaps say that an address changed (ISO)."""
    found = _each_text_once(visits)
    own = {entry.url for entry, _ in found}
    claims = Counter(canonical for _, canonical in found if canonical)
    names = _names([entry for entry, _ in found])
    return tuple(
        Page(
            # A canonical address that several pages claim is a mistake of the site's, not one page with several names.
            url=canonical if claims[canonical] == 1 and canonical not in own else entry.url,
            file=cache.file(entry),
            path=names[entry.url],
            last_modified=changed.get(entry.url) or _iso(entry.modified),
        )
        for entry, canonical in found
    )


def _each_text_once(visits: Sequence[VisitedPage]) -> list[tuple[Entry, str]]:
    found: dict[str, tuple[Entry, str]] = {}
    for visited in visits:
        if visited.entry is not None:
            canonical = visited.said.canonical
            same_host = urlsplit(canonical).netloc == urlsplit(visited.url).netloc
            found.setdefault(visited.entry.digest, (visited.entry, canonical if same_host else ""))
    return list(found.values())


def _names(entries: Sequence[Entry]) -> dict[str, str]:
    plain = {entry.url: path_name(entry.url, entry.suffix) for entry in entries}
    taken = Counter(plain.values())
    return {
        url: name if taken[name] == 1 or _is_literal(url, name) else _marked(url, name) for url, name in plain.items()
    }


def _is_literal(url: str, name: str) -> bool:
    parts = urlsplit(url)
    return not parts.query and name.endswith(unquote(parts.path)) and not parts.path.endswith("/")


def _marked(url: str, name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}-{short_hash(url)}{path.suffix}"))


def _iso(last_modified: str) -> str:
    try:
        return parsedate_to_datetime(last_modified).isoformat()
    except ValueError:
        return ""
