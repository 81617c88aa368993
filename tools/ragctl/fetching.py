"""Pages from the web as files to read: what a crawl brings, and what could not be had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.asked import Asked
from ragctl.console import progress

if TYPE_CHECKING:
    from knowledge.read.walk import Found
    from knowledge.types import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The pages as ``files``, what ``failed``, and what was ``skipped`` by the reason.

    ``lost`` are the paths of pages that could not be had now: what an index holds of them is as good as it was.
    """

    files: tuple[Found, ...] = ()
    failed: tuple[Failure, ...] = ()
    lost: frozenset[str] = frozenset()
    skipped: Mapping[str, int] = field(default_factory=dict)


def fetch(addresses: Sequence[str], asked: Asked, *, cache: Path) -> Fetched:
    """Fetch the pages behind ``addresses`` into the folder ``cache``.

    Raises:
        SourceUnreadable: of one address no page can be had.
    """
    from documents.crawl import Limits, crawl
    from documents.crawl.addresses import path_name
    from knowledge.errors import SourceUnreadable
    from knowledge.read.walk import Found

    files: dict[str, Found] = {}
    failed: list[Failure] = []
    skipped: Counter[str] = Counter()
    for address in addresses:
        with progress("Fetching") as on_progress:
            crawled = crawl(
                address,
                cache=cache,
                limits=Limits(pages=asked.max_pages),
                allow_hosts=frozenset(asked.allow_host),
                on_progress=on_progress,
            )
        if crawled.failed and not crawled.pages:
            first = crawled.failed[0]
            raise SourceUnreadable(f"No page of {address} can be had: {first.path}: {first.error}", crawled.failed)
        failed += crawled.failed
        skipped.update(crawled.skipped)
        for page in crawled.pages:
            files.setdefault(page.url, Found(page.file, cache, page.path, explicit=False, url=page.url))
    lost = frozenset(path_name(failure.path, ".html") for failure in failed) - {found.path for found in files.values()}
    return Fetched(files=tuple(files.values()), failed=tuple(failed), lost=lost, skipped=skipped)
