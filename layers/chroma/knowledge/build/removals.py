"""Documents that an ingest did not read: which of them an index keeps, and the limit on how many it may remove."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from knowledge.model.errors import RemovalsRefused
from knowledge.model.manifest import SourceRecord
from knowledge.model.values import OTHER_PATHS, Chunk, Document, Failure, Scalar
from knowledge.read.file_names import suffix
from knowledge.read.loading import CORPUS_SUFFIX

SHOWN_REMOVALS = 5
"""Documents that the message of a refused run names."""


def is_below(path: str, places: Collection[str]) -> bool:
    """Return whether ``path`` is one of ``places`` or below one; ``""`` is above all."""
    return _place_above(path, places) is not None


def owned_elsewhere(
    documents: Sequence[Document], before: Mapping[str, SourceRecord], unread: Collection[str]
) -> dict[str, str]:
    """Return the doc_ids of ``documents`` that belong to files of which nothing was read, with these files' paths.

    ``before`` are the sources by doc_id, ``unread`` the paths of such files.
    """
    read = {document.path for document in documents}
    paths = {d.doc_id: before[d.doc_id].path for d in documents if d.doc_id in before}
    return {doc_id: path for doc_id, path in paths.items() if path in unread and path not in read}


def has_moved(chunks: Sequence[Chunk], texts: Collection[str]) -> bool:
    """Return whether most of a document's ``chunks`` are among the ``texts`` of the new index.

    A single chunk that pages share (a licence, a notice) is no sign of it.
    """
    return 2 * sum(chunk.text in texts for chunk in chunks) > len(chunks)


def held_paths(extras: Iterable[Mapping[str, Scalar]], sources: Iterable[SourceRecord]) -> set[str]:
    """Return the paths whose text is in an index with these ``extras`` of documents or chunks, and these ``sources``.

    The records of a corpus share its path, which tells nothing of one of them.
    """
    paths = {path for extra in extras for path in str(extra.get(OTHER_PATHS, "")).splitlines()}
    return paths.union(source.path for source in sources if suffix(source.path) != CORPUS_SUFFIX)


def check_removals(removed: Sequence[str], *, total: int, max_share: float) -> None:
    """Raise RemovalsRefused if the documents with these paths are more than ``max_share`` (0..1) of the ``total``."""
    if len(removed) > max_share * total:
        named = ", ".join(removed[:SHOWN_REMOVALS]) + (", ..." if len(removed) > SHOWN_REMOVALS else "")
        raise RemovalsRefused(
            f"This would remove {len(removed)} of the {total} documents of the index ({named}). "
            "If that is meant, add --allow-removals; if not, see whether the folder is all there, or name another "
            "index with --index. "
            "The index is as it was"
        )


def keep_emptied(
    emptied: Mapping[str, Failure],
    sources: Iterable[SourceRecord],
    chunks: Mapping[str, Sequence[Chunk]],
    texts: Collection[str],
) -> tuple[list[SourceRecord], tuple[Failure, ...]]:
    """Return the ``sources`` whose places are now ``emptied`` (by path), and a failure for each such place.

    ``chunks`` are by doc_id. A document that moved is not kept: its text is among the ``texts`` read now.
    """
    kept: dict[str, list[SourceRecord]] = defaultdict(list)
    for source in sources:
        place = _place_above(source.path, emptied)
        if place is not None and source.chunks and not has_moved(chunks.get(source.doc_id, ()), texts):
            kept[place].append(source)
    failures = []
    for place, found in kept.items():
        if len(found) > 1:
            count = f"{len(found)} documents"
        else:
            count = f"{found[0].chunks} chunk" + ("s" if found[0].chunks > 1 else "")
        failures.append(replace(emptied[place], error=f"{emptied[place].error}, it held {count}"))
    return [source for found in kept.values() for source in found], tuple(failures)


def _place_above(path: str, places: Collection[str]) -> str | None:
    """Return the nearest of ``places`` at or above ``path``, None where there is none."""
    at = path
    while at not in places:
        if not at:
            return None
        at = at.rpartition("/")[0]
    return at
