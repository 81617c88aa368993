"""What a person names to ``ragctl ingest``, as documents: folders, files, corpora and addresses on the web."""

from __future__ import annotations

import mimetypes
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

import documents
from ragctl.console import progress
from ragctl.ingest_request import IngestRequest, is_address, is_one_of
from ragctl.kept_readings import KeptReadings, Watched

if TYPE_CHECKING:
    from knowledge.build.plan import Cut
    from knowledge.model.values import Document, Failure
    from knowledge.read.documents import Reading
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


CACHE_NAME = ".web"
"""Beside the manifest: the pages that were fetched, for the conditional requests of the next run."""

NAMED_SUFFIXES = 5
MEDIA = ("image", "audio", "video", "font")

IN_ONE_PROCESS_BYTES = 1_000_000
"""Less text than this is read and cut sooner than another process has started."""


def gather(
    asked: IngestRequest, *, cache: Path, kept: Path | None = None, texts: IO[bytes] | None = None
) -> tuple[Reading, KeptReadings]:
    """Read what was asked for; pages from the web are kept in the folder ``cache``.

    What the SQLite file ``kept`` has of files that are as they were is taken from there. The second result saves what
    was read now. ``texts``: see ``knowledge.read.documents.read``.

    Raises:
        SourceUnreadable: a path does not exist, or no page of an address can be had.
    """
    from knowledge.read.documents import Loading, Selection, read
    from ragctl.readers import Pages, readers

    local = [Path(path) for path in asked.paths if not is_address(path)]
    web = [path for path in asked.paths if is_address(path)]
    site = fetch(web, asked, cache=cache) if web else FetchedPages()
    sites = {path: path if path.is_dir() else path.parent for path in local}
    bases = {path: asked.base_of(str(path)) for path in local}
    pages = Pages.beside(sites, base_urls=bases, keep_suffix=asked.keep_suffix)
    readings = KeptReadings(kept, repr((asked.formats, pages)))
    with progress("Reading") as on_progress:
        reading = read(
            local,
            loading=Loading(
                readers=readers(pages),
                formats=asked.formats,
                site=pages,
                today=None if asked.drafts else datetime.now(UTC).date(),
            ),
            selection=Selection(include=asked.include, exclude=asked.exclude, follow_links=asked.follow_links),
            fetched=site.files,
            run=lambda function, files: readings.run(function, files, run_files),
            texts=texts,
            on_progress=on_progress,
        )
    found = replace(
        reading,
        failed=(*site.failed, *reading.failed),
        warnings=(*_passed_over(local, reading), *reading.warnings),
        lost=reading.lost | site.lost,
        skipped={**reading.skipped, **site.skipped},
        site_title=documents.site_title(pages.sites.values(), [page.file for page in site.files]),
    )
    return found, readings


def _passed_over(paths: Sequence[Path], reading: Reading) -> Iterable[Failure]:
    """A warning where more files were passed over for their suffix than read; pictures, sound and fonts aside."""
    from knowledge.model.values import Failure

    counted = {
        kind: count
        for kind, count in reading.skipped.items()
        if kind.startswith(".") and (mimetypes.guess_type(f"x{kind}")[0] or "").partition("/")[0] not in MEDIA
    }
    passed, read = sum(counted.values()), len(reading.documents)
    if passed > read:
        most = ", ".join(f"{count} {kind}" for kind, count in list(counted.items())[:NAMED_SUFFIXES])
        sentence = (
            f"{passed} files were passed over for their suffix and {read} read: {most}. --as SUFFIX=FORMAT reads them"
        )
        yield Failure(", ".join(map(str, paths)), sentence)


def emptied_since(reading: Reading, index_place: str) -> Mapping[str, Failure]:
    """What is empty now and may have held something in the index, by path."""
    from knowledge.open.place import made_of

    # A given folder ("") stands for all that the index holds; one that is given for the first time held nothing.
    last = made_of(index_place).paths
    return {path: said for path, said in reading.emptied.items() if path or is_one_of(said.path, last)}


def run_files(function: Callable[[FoundFile], Watched], files: Sequence[FoundFile]) -> Iterable[Watched]:
    """``function`` of each file, in several processes where a converter may end one, or where it is much to read."""
    from knowledge.model.values import Failure
    from knowledge.read.kinds import suffix, without_template
    from knowledge.read.loading import CORPUS_SUFFIX, SUFFIXES, shown_as

    texts = {*SUFFIXES, CORPUS_SUFFIX}
    if (
        all(suffix(without_template(found.file.name)) in texts for found in files)
        and _size(files) < IN_ONE_PROCESS_BYTES
    ):
        return map(function, files)
    from ragctl.processes import in_processes

    def lost(found: FoundFile, reason: str) -> Watched:
        return Watched((Failure(shown_as(found), reason),))

    return in_processes(function, files, lost=lost)


def run_documents(function: Callable[[Document], Cut], documents: Sequence[Document]) -> Iterable[Cut]:
    """``function`` of each document, in several processes where it is much to cut."""
    if sum(len(document.text) for document in documents) < IN_ONE_PROCESS_BYTES:
        return map(function, documents)
    from ragctl.processes import in_processes

    def cut() -> Iterator[Cut]:
        with progress("Cutting") as on_progress:
            results = in_processes(function, documents, lost=lambda _, reason: reason)
            for number, result in enumerate(results, start=1):
                on_progress(number, len(documents))
                yield result

    return cut()


def _size(files: Sequence[FoundFile]) -> int:
    total = 0
    for found in files:
        try:
            total += found.file.stat().st_size
        except OSError:
            continue  # reading it says so
    return total
