"""Documents from the paths of ``ragctl ingest``: folders, files, corpora and addresses on the web.

Files are read and cut in several processes, so that a file that ends its process fails alone. Pebble's pool is used
because the standard library's ends all of the work when one process dies, and has no time limit for one task. The
limit is CPU time: on a busy machine a good file takes many times as long by the clock.
"""

from __future__ import annotations

import mimetypes
import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool

import documents
from knowledge.build.plan import Cut, Plan, PreviousChunks, plan
from knowledge.model.errors import SourceUnreadable
from knowledge.model.values import Document, Failure
from knowledge.open.place import read_provenance
from knowledge.read.decoding import decode
from knowledge.read.documents import ReadResult, read
from knowledge.read.file_names import strip_template_suffixes, suffix
from knowledge.read.loading import CORPUS_SUFFIX, SUFFIXES, ConvertedText, EmptyFile, Loading, Reader, display_name
from knowledge.read.remedies import REMEDIES, PassedOver
from knowledge.read.walk import WITHOUT_SUFFIX, FoundFile, Selection
from ragctl.archives import SOFTWARE, Archives
from ragctl.console import progress
from ragctl.ingest_request import IngestRequest, is_address, is_one_of
from ragctl.options import count_cores
from ragctl.reading_cache import ReadingCache, TracedReading

CACHE_NAME = ".web"
"""Beside the manifest: the fetched pages, for the conditional requests of the next run."""
ZIPS_NAME = ".zips"
"""In the same folder: the files of zips."""
KEY = ".key"
"""The suffix of Apple's slides, and of private keys, which are text."""
NO_PROSE = frozenset({".env", ".lock"})
PROBE_BYTES = 1 << 16
MEDIA = ("image", "audio", "video", "font")

_NO_SITE = documents.Site(root="")


def find_sites(paths: Iterable[Path]) -> dict[Path, documents.Site]:
    """Return the site that each of ``paths`` belongs to; a path is a folder, or a file in one."""
    sites = {}
    for path in paths:
        with suppress(OSError):  # reading a folder that cannot be opened reports why
            sites[path] = documents.find_site(path if path.is_dir() else path.parent)
    return sites


@dataclass(frozen=True, slots=True)
class PageSites:
    """The ``SiteRules`` of ``knowledge.read.loading``, from the sites that the given folders belong to.

    ``base_urls``, by given path, replace the addresses in the sites' own configurations, unless they are ``""``. With
    ``keep_suffix`` a page's address ends with its file's path unchanged.
    """

    base_urls: Mapping[Path, str]
    sites: Mapping[Path, documents.Site]
    keep_suffix: bool = False

    def as_read(self, text: str, found: FoundFile, meta: Mapping[Any, Any]) -> ConvertedText:
        """See ``SiteRules``."""
        page = documents.clean_page(text, file=found.file, root=found.within, site=self.site(found), meta=meta)
        return ConvertedText(page.text, page.caveats, page.plain)

    def address(self, found: FoundFile, meta: Mapping[Any, Any]) -> str:
        """See ``SiteRules``."""
        site, (base_url, path) = self.site(found), self._place(found)
        if self.keep_suffix or documents.keeps_suffixes(base_url):
            return documents.page_url(site, path=path, meta=meta, base_url=base_url, keep_suffix=True)
        return documents.page_url(site, path=strip_template_suffixes(path), meta=meta, base_url=base_url)

    def named(self, found: FoundFile) -> bool:
        """See ``SiteRules``."""
        return self.site(found).kind == "wiki"

    def excludes(self, found: FoundFile) -> bool:
        """See ``SiteRules``. Pictures in the folder of a site are parts of its pages."""
        site = self.site(found)
        is_part = site.kind != "" and found.file.suffix.lower() in documents.PICTURES
        return is_part or documents.is_excluded(site, self._place(found)[1])

    def anchors(self, found: FoundFile) -> str:
        """See ``SiteRules``."""
        site = self.site(found)
        return site.anchors if site.kind or self._place(found)[0] or found.url else ""

    def site(self, found: FoundFile) -> documents.Site:
        """Return the site of a file; its kind is ``""`` if it is unknown."""
        return self.sites.get(found.archive or found.root, _NO_SITE)

    def _place(self, found: FoundFile) -> tuple[str, str]:
        """Return the base address of a file's site, and the file's path in it."""
        if not found.archive:
            return self.base_urls.get(found.root, ""), found.path
        given = found.root / PurePath(found.path).parts[0]
        return self.base_urls.get(given, ""), found.file.relative_to(found.archive).as_posix()


def readers(sites: PageSites | None = None) -> Mapping[str, Reader]:
    """Return a picklable reader for each suffix of ``documents``, for pictures if text recognition is installed."""
    read = documents.SUFFIXES - (frozenset() if documents.has_text_recognition() else documents.PICTURES)
    return {suffix: partial(_convert, suffix=suffix, sites=sites) for suffix in sorted(read)}


def _convert(
    data: bytes, found: FoundFile | None = None, *, suffix: str, sites: PageSites | None = None
) -> ConvertedText:
    try:
        file, root = (found.file, found.within) if found else (None, None)
        site = sites.site(found) if found and sites else None
        alone = found is not None and found.explicit
        converted = documents.convert(data, suffix, decode=decode, file=file, root=root, site=site, alone=alone)
    except documents.NoText as exc:
        raise EmptyFile(str(exc)) from exc
    except documents.DocumentError as exc:
        raise SourceUnreadable(str(exc)) from exc
    parts = tuple(ConvertedText(one.text, one.caveats, one.plain) for one in converted.parts)
    return ConvertedText(converted.text, converted.caveats, converted.plain, parts)


def fetch_pages(
    request: IngestRequest, *, cache: Path
) -> tuple[list[FoundFile], list[Failure], Set[str], Mapping[str, int]]:
    """Fetch the pages behind the addresses of ``request`` into the folder ``cache``.

    Returns the pages' files, the failures, the paths of pages that are unavailable for now (the index keeps its version
    of them), and the number of skipped addresses by reason.

    Raises:
        SourceUnreadable: an address gives no page.
    """
    files: dict[str, FoundFile] = {}
    failed: list[Failure] = []
    lost: set[str] = set()
    skipped: Counter[str] = Counter()
    limits, hosts = documents.Limits(pages=request.max_pages), frozenset(request.allow_host)
    for address in filter(is_address, request.paths):
        try:
            with progress("Fetching") as on_progress:
                crawled = documents.fetch_site(
                    address, cache=cache, limits=limits, allow_hosts=hosts, on_progress=on_progress
                )
        except documents.Unreadable as exc:
            raise SourceUnreadable(str(exc)) from exc
        failures = tuple(Failure(failure.path, failure.error) for failure in crawled.failed)
        if failures and not crawled.pages:
            sentence = f"No page of {address} can be had: {failures[0].path}: {failures[0].error}"
            raise SourceUnreadable(sentence, failures)
        failed += failures
        lost |= crawled.lost
        skipped.update(crawled.skipped)
        for page in crawled.pages:
            files.setdefault(page.url, FoundFile(page.file, cache, page.path, explicit=False, url=page.url))
    lost -= {found.path for found in files.values()}
    return list(files.values()), failed, lost, skipped


def read_sources(
    request: IngestRequest, *, cache: Path, readings_path: Path | None = None, texts: IO[bytes] | None = None
) -> tuple[ReadResult, ReadingCache]:
    """Read the paths of ``request``; pages from the web are stored in the folder ``cache``.

    Unchanged files come from the SQLite file ``readings_path``; the returned cache saves the new results there.
    ``texts``: see ``knowledge.read.documents.read``.

    Raises:
        SourceUnreadable: a path does not exist, or an address gives no page.
    """
    local = request.local_paths
    pages, failed, lost, skipped = fetch_pages(request, cache=cache)
    base_urls = {path: request.find_base_url(str(path)) for path in local}
    found_sites = find_sites(local)
    sites = PageSites(base_urls, found_sites, request.keep_suffix)
    options = repr((request.formats, sites, documents.has_text_recognition()))
    readings = ReadingCache(readings_path, options, found_sites)
    loading = Loading(
        readers=readers(sites),
        formats=request.formats,
        detect=documents.detect,
        site=sites,
        today=None if request.drafts else datetime.now(UTC).date(),
    )
    archives = Archives(cache / ZIPS_NAME, loading.kind, local, found_sites)
    with progress("Reading") as on_progress:
        reading = read(
            local,
            loading=loading,
            unpack=archives.unpack,
            selection=Selection(include=request.include, exclude=request.exclude, follow_links=request.follow_links),
            fetched=pages,
            run=lambda function, files: readings.run(function, files, map_files),
            texts=texts,
            on_progress=on_progress,
        )
    archives.prune()
    complete = replace(
        reading,
        failed=(*failed, *archives.failed, *reading.failed),
        warnings=tuple(one for one in reading.warnings if one.error != documents.PICTURE_WITHOUT_TEXT),
        passed_over=tuple(find_passed_over(reading, sites.sites)),
        lost=reading.lost | lost | archives.lost,
        skipped={**reading.skipped, **skipped},
        site_title=documents.find_title(sites.sites.values(), [page.file for page in pages]),
    )
    return complete, readings


def find_passed_over(reading: ReadResult, sites: Mapping[Path, documents.Site]) -> Iterator[PassedOver]:
    """Yield the kinds of skipped files that hold documents, the most frequent first.

    Pictures and unknown kinds in the folder of a site are parts of its pages.
    """
    folders = [path for path, site in sites.items() if site.kind]
    for kind, example in reading.examples.items():
        if kind == ".gif" and example.place.is_file() and not example.place.stat().st_size:
            continue  # an exporter's icon: pictures in a zip are not unpacked
        is_in_site = any(map(example.place.is_relative_to, folders))
        if remedy := _find_remedy(kind, example.place, is_in_site=is_in_site):
            count = reading.skipped[kind]
            yield PassedOver(kind, count, example.path, remedy.format("it" if count == 1 else "them"))


def _find_remedy(kind: str, file: Path, *, is_in_site: bool) -> str:
    """Return what to do with files such as ``file``, ``""`` if they hold no documents."""
    media = (mimetypes.guess_type(f"x{kind}")[0] or "").partition("/")[0]
    if kind == SOFTWARE:
        return "give {} by name to read the documents"
    if kind in REMEDIES:
        is_other = (is_in_site and media in MEDIA) or (kind == KEY and _is_prose(file))
        return "" if is_other else REMEDIES[kind]
    is_reason = kind != WITHOUT_SUFFIX and not kind.startswith(".")  # such as "hidden"
    if is_reason or is_in_site or media in {*MEDIA, "application"} or not _is_prose(file):
        return ""
    if kind == WITHOUT_SUFFIX:
        with file.open("rb") as opened:
            return f"give {{}} the suffix {'.mbox' if opened.read(5) == b'From ' else '.txt'}"
    return f"--as {kind[1:]}=txt reads {{}} as text"


def _is_prose(file: Path) -> bool:
    """Return whether a file of an unknown kind is a text, and no code or data."""
    if not file.is_file() or file.suffix in NO_PROSE:
        return False
    try:
        with file.open("rb") as opened:
            text = decode(opened.read(PROBE_BYTES))[0].lstrip()
    except (OSError, ValueError):
        return False
    if not text or text[0] in "{[<":
        return False
    from pygments.lexers import find_lexer_class_for_filename  # type: ignore[import-untyped]  # takes .3 s

    return find_lexer_class_for_filename(file.name) is None


def emptied_paths(reading: ReadResult, index_place: str) -> Mapping[str, Failure]:
    """Return the files and folders that are empty now and may have documents in the index, by path."""
    # A given folder ("") stands for all documents of the index; a folder that is given for the first time has none.
    last = read_provenance(index_place).paths
    return {path: failure for path, failure in reading.emptied.items() if path or is_one_of(failure.path, last)}


IN_ONE_PROCESS_BYTES = 1_000_000
"""Less text than this is read and cut sooner than another process has started."""
TASK_LIMIT_S = 300
"""CPU time for one file: 117 PDFs of public repositories took 99 s together."""
WAIT_LIMIT_S = 24 * TASK_LIMIT_S
"""Clock time for one file: one that waits for a disk that is gone takes no CPU time, and a page read by text
recognition, each with CPU time of its own, waits for those of other files."""
AHEAD = 256
"""Results in memory at once, including those that wait for a slow one before them."""


def map_files(function: Callable[[FoundFile], TracedReading], files: Sequence[FoundFile]) -> Iterable[TracedReading]:
    """Map ``function`` over files, in several processes if a converter may end one, or if there is much to read."""
    texts = {*SUFFIXES, CORPUS_SUFFIX}
    size = 0
    for found in files:
        with suppress(OSError):  # reading the file reports it
            size += found.file.stat().st_size
    if (
        all(suffix(strip_template_suffixes(found.file.name)) in texts for found in files)
        and size < IN_ONE_PROCESS_BYTES
    ):
        return map(function, files)
    return map_in_processes(
        function, files, on_loss=lambda found, reason: TracedReading((Failure(display_name(found), reason),))
    )


def map_documents(function: Callable[[Document], Cut], documents: Sequence[Document]) -> Iterable[Cut]:
    """Map ``function`` over documents, in several processes if there is much to cut."""
    if sum(len(document.text) for document in documents) < IN_ONE_PROCESS_BYTES:
        return map(function, documents)

    def cut() -> Iterator[Cut]:
        with progress("Cutting") as on_progress:
            results = map_in_processes(function, documents, on_loss=lambda _, reason: reason)
            for number, result in enumerate(results, start=1):
                on_progress(number, len(documents))
                yield result

    return cut()


def cut_documents(documents: Sequence[Document]) -> Plan:
    """Cut ``documents`` as an ingest into a new index does."""
    return plan(documents, previous=PreviousChunks(), map_documents=map_documents)


def map_in_processes[T, R](
    function: Callable[[T], R], items: Sequence[T], *, on_loss: Callable[[T, str], R], limit_s: float = TASK_LIMIT_S
) -> Iterator[R]:
    """Yield the results of ``function``, in order; ``on_loss`` makes the result of a lost process from the reason.

    ``limit_s`` is the CPU time of one item, in seconds.
    """
    # A fresh interpreter each: a fork would copy the locks of this process' threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPool(max_workers=max(1, min(count_cores(), len(items))), context=context) as pool:
        work, waiting = partial(_limit_cpu_time, function, limit_s), iter(items)
        started: deque[ProcessFuture[R]] = deque()
        try:
            for item in items:
                batch = islice(waiting, AHEAD - len(started))
                started.extend(pool.schedule(work, args=[one], timeout=WAIT_LIMIT_S) for one in batch)
                try:
                    yield started.popleft().result()
                except WaitedTooLong:
                    yield on_loss(item, f"was waited for {WAIT_LIMIT_S / 60:.0f} minutes: is its disk there?")
                except ProcessExpired as exc:
                    reason = f"ended the process that read it (exit code {exc.exitcode}): it may need too much memory"
                    if exc.exitcode == -signal.SIGPROF:
                        reason = f"takes more than {limit_s:.0f} s of CPU time: split it, or save it in another format"
                    yield on_loss(item, reason)
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]  # the caller stopped, as at Ctrl-C, and needs no more results
            raise


def _limit_cpu_time[T, R](function: Callable[[T], R], limit_s: float, item: T) -> R:
    """Return ``function(item)``; SIGPROF ends its process after ``limit_s`` seconds of CPU time."""
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        return function(item)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
