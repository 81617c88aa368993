"""Read documents from files and folders: Markdown, plain text, BEIR corpora, and what converters are given for.

Whatever cannot be read is named in the outcome, and the rest goes on. For ingest only: it needs YAML and Markdown
parsers, which a query does without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path, PurePosixPath

from knowledge.errors import unexpected
from knowledge.read.dates import stated_date
from knowledge.read.loading import CORPUS_NAME, SUFFIXES, Entry, Reader, load, suffix
from knowledge.read.walk import Skipped, find, readable
from knowledge.types import Document, Failure

__all__ = ["Reader", "Reading", "read"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a read found. What ``failed`` names is not among the documents; ``warnings`` are caveats about those that
    are, and links that were not followed."""

    documents: tuple[Document, ...]
    failed: tuple[Failure, ...] = ()
    warnings: tuple[Failure, ...] = ()


def read(paths: Sequence[Path], *, readers: Mapping[str, Reader] | None = None) -> Reading:
    """Read the documents in ``paths``: files, and folders with all that is in them but hidden files.

    Folders give ``*.md``, ``*.markdown``, ``*.txt`` and ``corpus.jsonl``, and the suffixes of ``readers`` (lower
    case, with the dot; one given here replaces the built-in one). A corpus that is given itself may have any name in
    ``.jsonl``.

    A document's ``doc_id`` is its own (``doc_id`` or ``id``), else its path without suffix: with the given folder's
    name in front if two folders would give the same, and with its suffix if that is still taken.

    Raises:
        SourceUnreadable: one of ``paths`` does not exist.
    """
    converters = {kind.lower(): reader for kind, reader in (readers or {}).items()}
    kinds = {*SUFFIXES, *converters}
    entries: list[Entry] = []
    failed: list[Failure] = []
    warnings: list[Failure] = []
    for item in find(paths, wanted=lambda name: name == CORPUS_NAME or suffix(name) in kinds):
        if isinstance(item, Skipped):
            (failed if item.lost else warnings).append(Failure(readable(item.file), item.reason))
            continue
        for outcome in load(item, converters):
            if isinstance(outcome, Entry):
                entries.append(outcome)
            else:
                failed.append(outcome)
    documents: list[Document] = []
    for entry, doc_id in _identified(entries):
        if isinstance(doc_id, Failure):
            failed.append(doc_id)
            continue
        try:
            documents.append(_document(entry, doc_id))
        except Exception as exc:  # noqa: BLE001 - the other documents go on
            failed.append(Failure(entry.shown, unexpected(exc)))
            continue
        warnings += [Failure(entry.shown, caveat) for caveat in entry.caveats]
    return Reading(tuple(documents), tuple(failed), tuple(warnings))


def _identified(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str | Failure]]:
    """Each entry with its doc_id, in order; of entries that claim the same id all but the first fail."""
    owners: dict[str, Entry] = {}
    for entry in entries:
        if entry.fields.doc_id:
            owners.setdefault(entry.fields.doc_id, entry)
    roots: dict[str, set[Path]] = {}
    for entry in entries:
        roots.setdefault(_derived(entry), set()).add(entry.found.root)
    for entry in entries:
        doc_id = entry.fields.doc_id or _free(entry, owners, shared=len(roots[_derived(entry)]) > 1)
        owner = owners.setdefault(doc_id, entry)
        if owner is entry:
            yield entry, doc_id
        else:
            yield entry, Failure(entry.shown, f"has the doc_id {doc_id!r} of {owner.shown!r}")


def _derived(entry: Entry) -> str:
    return PurePosixPath(entry.found.path).with_suffix("").as_posix()


def _free(entry: Entry, owners: Mapping[str, Entry], *, shared: bool) -> str:
    """An id made of the entry's path that no other document has."""
    root = entry.found.root.resolve()
    front = f"{readable((root.parent if entry.found.explicit else root).name)}/" if shared else ""
    full = front + entry.found.path
    numbered = (f"{full}-{number}" for number in count(2))
    return next(name for name in chain((front + _derived(entry), full), numbered) if name not in owners)


def _document(entry: Entry, doc_id: str) -> Document:
    fields = entry.fields
    folders = PurePosixPath(entry.found.path).parts[:-1]
    document = Document(
        doc_id=doc_id,
        title=fields.title,
        text=entry.text,
        digest="",
        path=entry.found.path,
        category=fields.category or (folders[0] if folders else ""),
        source_org=fields.source_org,
        source_urls=fields.source_urls,
        source_type=fields.source_type,
        jurisdiction=fields.jurisdiction,
        last_updated=fields.last_updated,
        dated=stated_date(last_updated=fields.last_updated, extra=fields.extra, path=entry.found.path, url=fields.url),
        url=fields.url,
        extra=fields.extra,
    )
    canonical = json.dumps(asdict(document), sort_keys=True, separators=(",", ":"))
    return replace(document, digest=hashlib.sha256(canonical.encode()).hexdigest())
