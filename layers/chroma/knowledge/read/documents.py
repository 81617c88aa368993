"""Read documents from files and folders: Markdown, plain text, BEIR corpora, and formats with a converter.

A file that cannot be read is listed in the result, and the rest goes on. For ingest only: it needs YAML and Markdown
parsers, which a query does not load.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO, Any

from knowledge.model.errors import IndexNotWritten, describe_unexpected
from knowledge.model.values import OLDER_VERSIONS, OTHER_PATHS, Document, Failure
from knowledge.read.dates import document_date
from knowledge.read.duplicates import find_duplicates, find_older_versions
from knowledge.read.file_names import strip_format, strip_numbers, suffix
from knowledge.read.loading import (
    AS_TEXT,
    CORPUS_NAME,
    CORPUS_SUFFIX,
    ExcludedDocument,
    LoadedDocument,
    Loading,
    LoadOutcome,
    is_corpus,
    load,
    load_lazily,
    split_mailbox,
)
from knowledge.read.losses import WordLoss
from knowledge.read.remedies import PassedOver
from knowledge.read.threads import find_endings, find_threads, join_messages
from knowledge.read.walk import (
    EVERYTHING,
    ZIP,
    EmptyFolder,
    FoundFile,
    IgnoredPath,
    Selection,
    SkippedPath,
    Unpack,
    find_files,
    printable_name,
)

type FileSlice = tuple[int, int]
"""The first byte of a text in its file, and its length in bytes."""


class TextFile:
    """Texts one after the other in a file; lone surrogates, which have no encoding, are preserved."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        """``file`` is empty, and open for reading and writing; without one the texts are in memory."""
        self._file = io.BytesIO() if file is None else file
        self._end = 0

    def add(self, text: str) -> FileSlice:
        """Write ``text`` at the end; IndexNotWritten: the disk is full."""
        data = text.encode(errors="surrogatepass")
        try:
            self._file.seek(self._end)
            self._file.write(data)
        except OSError as exc:
            raise IndexNotWritten(f"The texts of the documents cannot be kept on disk: {exc.strerror}") from exc
        place = self._end, len(data)
        self._end += len(data)
        return place

    def read(self, place: FileSlice) -> str:
        """Return the text at ``place``."""
        self._file.seek(place[0])
        return self._file.read(place[1]).decode(errors="surrogatepass")


class StoredDocuments(Sequence[Document]):
    """A sequence of documents whose texts are read from an open file on each access."""

    def __init__(self, texts: TextFile, bare: Sequence[Document], places: Sequence[FileSlice]) -> None:
        """``bare`` are the documents without their texts, which are at ``places``."""
        self._texts, self._bare, self._places = texts, bare, places

    def __len__(self) -> int:
        return len(self._bare)

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return StoredDocuments(self._texts, self._bare[at], self._places[at])
        return replace(self._bare[at], text=self._texts.read(self._places[at]))


def assign_ids(files: Sequence[LoadedDocument | FoundFile]) -> Iterator[tuple[LoadedDocument, str | Failure]]:
    """Yield each document with its doc_id, in order; a file that has no text now keeps its doc_id reserved.

    If files claim the same id, all but the first get one made of their path: Docusaurus' ``id`` is unique in its
    folder only (121 pages of two public sites). Records of a corpus have no paths: there all but the first fail.
    """
    owners: dict[str, LoadedDocument] = {}
    roots: dict[str, set[Path]] = {}
    for file in files:
        if isinstance(file, LoadedDocument) and file.fields.doc_id:
            owners.setdefault(file.fields.doc_id, file)
        found = file if isinstance(file, FoundFile) else file.found
        roots.setdefault(strip_format(found.path), set()).add(found.root)
    taken = set(owners)
    for file in files:
        found = file if isinstance(file, FoundFile) else file.found
        shared = len(roots[strip_format(found.path)]) > 1
        if isinstance(file, FoundFile):
            taken.add(_free(found, taken, shared=shared))
            continue
        claimed = file.fields.doc_id
        owner = owners.get(claimed, file) if claimed else file
        if owner is not file and suffix(found.path) == CORPUS_SUFFIX:
            yield file, Failure(file.shown, f"has the doc_id {claimed!r} of {owner.shown!r}")
            continue
        doc_id = claimed if claimed and owner is file else _free(found, taken, shared=shared)
        taken.add(doc_id)
        caveat = "has a doc_id that another document has: its path stands for it"
        yield (file if owner is file else replace(file, caveats=(*file.caveats, caveat))), doc_id


def _free(found: FoundFile, taken: Container[str], *, shared: bool) -> str:
    """Return an unused id made of the file's path."""
    root = found.root.resolve()
    front = f"{printable_name((root.parent if found.explicit else root).name)}/" if shared else ""
    full = front + found.path
    numbered = (f"{full}-{number}" for number in count(2))
    return next(name for name in chain((front + strip_format(found.path), full), numbered) if name not in taken)


type Run = Callable[
    [Callable[[FoundFile], tuple[LoadOutcome, ...]], Sequence[FoundFile]], Iterable[tuple[LoadOutcome, ...]]
]
"""Calls a function with each of many files and gives the results in order, perhaps from several processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The documents of some paths, and what became of the other files.

    ``failed`` documents are not among ``documents``; ``warnings`` are caveats about documents that are, and links that
    were not followed. ``lost`` are the paths, as in ``Document.path``, of existing files and folders that could not be
    read: an index keeps its chunks of them and of everything below them. ``emptied`` are files without text and folders
    without files, by path: perhaps only for a moment. ``skipped`` counts unwanted files by suffix (``examples``
    has one of each), ``passed_over`` are those of them that hold documents, if a caller names them, ``left_out``
    excluded documents by the reason. ``losses`` are documents whose words are not their files', by name in messages;
    ``warnings`` name them too. ``site_title`` is the name of their site, if a caller knows it.
    """

    documents: Sequence[Document]
    failed: tuple[Failure, ...] = ()
    warnings: tuple[Failure, ...] = ()
    lost: frozenset[str] = frozenset()
    emptied: Mapping[str, Failure] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, IgnoredPath] = field(default_factory=dict)
    passed_over: Sequence[PassedOver] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    losses: Mapping[str, WordLoss] = field(default_factory=dict)
    site_title: str = ""


def read(
    paths: Sequence[Path],
    *,
    loading: Loading = AS_TEXT,
    selection: Selection = EVERYTHING,
    unpack: Unpack = lambda *_: ZIP,
    fetched: Sequence[FoundFile] = (),
    run: Run = map,
    texts: IO[bytes] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ReadResult:
    """Read the documents in ``paths``: files, and folders with all files in them that ``selection`` takes.

    In folders ``SUFFIXES``, ``corpus.jsonl`` and the suffixes of ``loading``'s readers are read (a reader replaces the
    built-in one). A file that is given itself may have any name: it is plain text if its suffix is unknown, and a
    corpus in ``.jsonl``. ``unpack`` makes folders of zips. ``fetched`` are further files, such as pages from the web.
    ``texts`` is an empty file for the documents' texts: each is then read from there when its document is used, and
    they are never in memory all at once. ``on_progress`` gets the number of files read, and of all files.

    A document's ``doc_id`` is its own (``doc_id`` or ``id``), else its path without suffix: with the given folder's
    name in front if two folders would give the same, and with its suffix if that is still taken.

    SourceUnreadable: one of ``paths`` does not exist. IndexNotWritten: ``texts`` takes no more.
    """
    files: list[FoundFile] = []
    outcomes = _Outcomes(TextFile(texts))
    for item in find_files(
        paths,
        wanted=lambda file: file.name == CORPUS_NAME or loading.kind_of(file) != "",
        selection=selection,
        unpack=unpack,
    ):
        if isinstance(item, FoundFile):
            if loading.site and not item.explicit and loading.site.excludes(item):
                outcomes.skipped["excluded by the site"] += 1
            else:
                files += split_mailbox(item, loading)
        elif isinstance(item, IgnoredPath):
            outcomes.skipped[item.kind] += 1
            outcomes.examples.setdefault(item.kind, replace(item, path=strip_numbers(item.path)))
        elif isinstance(item, EmptyFolder):
            outcomes.emptied.setdefault(item.path, Failure(printable_name(item.place), "is a folder without files"))
        else:
            outcomes.unread(item)
    files = [*_shorten_paths(files), *fetched]
    others = iter(run(partial(load, loading=loading), [found for found in files if not is_corpus(found, loading)]))
    for done, found in enumerate(files, 1):
        # The documents of a corpus come one by one, in this process.
        outcomes.take(found, load_lazily(found, loading) if is_corpus(found, loading) else next(others))
        if on_progress is not None:
            on_progress(done, len(files))
    reading = outcomes.reading()
    return reading if texts is not None else replace(reading, documents=tuple(reading.documents))


def _shorten_paths(files: Sequence[FoundFile]) -> Iterator[FoundFile]:
    """Yield ``files`` without the numbers of exports in their paths; where two were the same, with eight digits."""
    count = Counter(map(strip_numbers, {found.path for found in files}))
    for found in files:
        short = strip_numbers(found.path)
        yield replace(found, path=short if count[short] == 1 else strip_numbers(found.path, digits=8))


class _Outcomes:
    """The outcomes of the files so far."""

    def __init__(self, texts: TextFile) -> None:
        self._texts = texts
        self._places: list[FileSlice] = []  # of the texts of the documents among the files
        self.skipped: Counter[str] = Counter()
        self.examples: dict[str, IgnoredPath] = {}
        self.emptied: dict[str, Failure] = {}
        self._left_out: Counter[str] = Counter()
        self._files: list[LoadedDocument | FoundFile] = []
        self._failed: list[Failure] = []
        self._warnings: list[Failure] = []
        self._lost: set[str] = set()

    def unread(self, item: SkippedPath) -> None:
        (self._failed if item.lost else self._warnings).append(Failure(printable_name(item.file), item.reason))
        if item.lost:
            self._lost.add(strip_numbers(item.path))

    def take(self, found: FoundFile, results: Iterable[LoadOutcome]) -> None:
        for outcome in results:
            match outcome:
                case LoadedDocument():
                    self._files.append(replace(outcome, text=""))
                    self._places.append(self._texts.add(outcome.text))
                case ExcludedDocument():
                    self._left_out[outcome.reason] += 1
                    self._warnings.append(warning := Failure(outcome.shown, outcome.reason))
                    if outcome.empty:
                        self.emptied[found.path] = warning
                        self._reserve_id(found)
                case Failure():
                    self._failed.append(outcome)
                    self._lost.add(found.path)
                    self._reserve_id(found)

    def _reserve_id(self, found: FoundFile) -> None:
        if suffix(found.path) != CORPUS_SUFFIX:  # whose records have ids of their own
            self._files.append(found)

    def _join_threads(
        self, files: dict[int, Any], entries: dict[int, LoadedDocument], places: dict[int, FileSlice]
    ) -> None:
        """Replace the messages of each thread by its document."""
        mails = {number: entry for number, entry in entries.items() if entry.fields.message_ids}
        endings = find_endings(mails, lambda number: self._texts.read(places[number]))
        for (newest, *earlier), copies, thread in find_threads(mails):
            if earlier or newest in endings:
                messages = [(mails[number], self._texts.read(places[number])) for number in (newest, *earlier)]
                cuts = [endings.get(number, (0, 0)) for number in (newest, *earlier)]
                places[newest] = self._texts.add(join_messages(messages, cuts))
            files[newest] = entries[newest] = thread
            for number in chain(earlier, copies):
                del files[number], entries[number], places[number]

    def _merge(self) -> tuple[Sequence[LoadedDocument | FoundFile], Sequence[FileSlice]]:
        """Return the files and texts without duplicates; the others get their paths, and those of older versions."""
        files = dict(enumerate(self._files))
        entries = {number: file for number, file in files.items() if isinstance(file, LoadedDocument)}
        places = dict(zip(entries, self._places, strict=True))
        self._join_threads(files, entries, places)
        named = {number: one for number, one in entries.items() if suffix(one.found.path) != CORPUS_SUFFIX}
        paths = {number: one.found.path for number, one in named.items()}
        duplicates = find_duplicates(named, lambda number: self._texts.read(places[number]))
        for number in chain.from_iterable(duplicates.values()):
            del files[number], entries[number], named[number]
            self._left_out["has the text of another file"] += 1
        older = find_older_versions(named, lambda number: self._texts.read(places[number]))
        for field_name, found in ((OTHER_PATHS, duplicates), (OLDER_VERSIONS, older)):
            for number, others in found.items():
                fields = entries[number].fields
                stated = {**fields.extra, field_name: "\n".join(sorted(paths[other] for other in others))}
                files[number] = entries[number] = replace(entries[number], fields=replace(fields, extra=stated))
        return list(files.values()), [places[number] for number in entries]

    def reading(self) -> ReadResult:
        files, texts = self._merge()
        documents: list[Document] = []
        places: list[FileSlice] = []
        losses: dict[str, WordLoss] = {}
        for (entry, doc_id), place in zip(assign_ids(files), texts, strict=True):
            if isinstance(doc_id, Failure):
                self._failed.append(doc_id)
                continue
            try:
                documents.append(replace(_document(entry, doc_id, self._texts.read(place)), text=""))
                places.append(place)
            except Exception as exc:  # noqa: BLE001 - the other documents go on
                self._failed.append(Failure(entry.shown, describe_unexpected(exc)))
                self._lost.add(entry.found.path)
                continue
            self._warnings += [Failure(entry.shown, caveat) for caveat in entry.caveats]
            if entry.loss:
                losses[entry.shown] = entry.loss
                self._warnings.append(Failure(entry.shown, entry.loss.describe()))
        return ReadResult(
            documents=StoredDocuments(self._texts, documents, places),
            failed=tuple(self._failed),
            warnings=tuple(self._warnings),
            lost=frozenset(self._lost),
            emptied=self.emptied,
            skipped=dict(self.skipped.most_common()),
            examples={kind: self.examples[kind] for kind, _ in self.skipped.most_common() if kind in self.examples},
            left_out=dict(self._left_out.most_common()),
            losses=losses,
        )


def _document(entry: LoadedDocument, doc_id: str, text: str) -> Document:
    fields = entry.fields
    folders = [name for name in PurePosixPath(entry.found.path).parts[:-1] if not name.lower().endswith(ZIP)]
    document = Document(
        doc_id=doc_id,
        title=fields.title,
        text=text,
        digest="",
        path=entry.found.path,
        category=fields.category or (folders[0] if folders else ""),
        source_org=fields.source_org,
        source_urls=fields.source_urls,
        source_type=fields.source_type,
        jurisdiction=fields.jurisdiction,
        last_updated=fields.last_updated,
        dated=document_date(
            last_updated=fields.last_updated, extra=fields.extra, path=entry.found.path, url=fields.url
        ),
        url=fields.url,
        anchors=entry.anchors,
        extra=fields.extra,
    )
    canonical = json.dumps(asdict(document), sort_keys=True, separators=(",", ":"))
    return replace(document, digest=hashlib.sha256(canonical.encode()).hexdigest())
