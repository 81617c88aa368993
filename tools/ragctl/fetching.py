"""Pages from the web as files to read: what a crawl brings, and what could not be had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import documents
from ragctl.console import progress
from ragctl.ingest_request import IngestRequest

if TYPE_CHECKING:
    from knowledge.model.values import Failure
    from knowledge.read.walk import FoundFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPages:
    """The pages as ``files``, what ``failed``, and what was ``skipped`` by the reason.

    ``lost`` are the paths of pages that could not be had now: what an index holds of them is as good as it was.
    """

    files: tuple[FoundFile, ...] = ()
    failed: tuple[Failure, ...] = ()
    lost: frozenset[str] = frozenset()
    skipped: Mapping[str, int] = field(default_factory=dict)


def fetch(addresses: Sequence[str], asked: IngestRequest, *, cache: Path) -> FetchedPages:
    """Fetch the pages behind ``addresses`` into the folder ``cache``.

    Raises:
        SourceUnreadable: of one address no page can be had.
    """
    from knowledge.model.errors import SourceUnreadable
    from knowledge.model.values import Failure
    from knowledge.read.walk import FoundFile

    files: dict[str, FoundFile] = {}
    failed: list[Failure] = []
    lost: set[str] = set()
    skipped: Counter[str] = Counter()
    for address in addresses:
        crawled = _fetched(address, asked, cache)
        failures = tuple(Failure(failure.path, failure.error) for failure in crawled.failed)
        if failures and not crawled.pages:
            raise SourceUnreadable(
                f"No page of {address} can be had: {failures[0].path}: {failures[0].error}", failures
            )
        failed += failures
        lost |= crawled.lost
        skipped.update(crawled.skipped)
        for page in crawled.pages:
            files.setdefault(page.url, FoundFile(page.file, cache, page.path, explicit=False, url=page.url))
    lost -= {found.path for found in files.values()}
    return FetchedPages(files=tuple(files.values()), failed=tuple(failed), lost=frozenset(lost), skipped=skipped)


def _fetched(address: str, asked: IngestRequest, cache: Path) -> documents.CrawlResult:
    from knowledge.model.errors import SourceUnreadable

    limits = documents.Limits(pages=asked.max_pages)
    try:
        with progress("Fetching") as on_progress:
            return documents.fetch_site(
                address, cache=cache, limits=limits, allow_hosts=frozenset(asked.allow_host), on_progress=on_progress
            )
    except documents.Unreadable as exc:
        raise SourceUnreadable(str(exc)) from exc
