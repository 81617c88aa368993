"""What an index holds of places where there is nothing to read now, and whether that stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from knowledge.model.errors import RemovalsRefused
from knowledge.model.manifest import Source
from knowledge.model.values import Chunk, Document, Failure

SHOWN_REMOVALS = 5
"""So many of the documents that a refused run would remove are named."""


def is_below(path: str, places: Collection[str]) -> bool:
    """Whether ``path`` is one of ``places`` or below one; ``""`` is above all."""
    return _place_of(path, places) is not None


def owned_elsewhere(
    documents: Sequence[Document], before: Mapping[str, Source], unread: Collection[str]
) -> dict[str, str]:
    """The doc_ids of ``documents`` that belong to files of which nothing was read, with these files' paths.

    ``before`` are the sources by doc_id, ``unread`` the paths of such files.
    """
    read = {document.path for document in documents}
    paths = {d.doc_id: before[d.doc_id].path for d in documents if d.doc_id in before}
    return {doc_id: path for doc_id, path in paths.items() if path in unread and path not in read}


def has_moved(chunks: Sequence[Chunk], texts: Collection[str]) -> bool:
    """Whether most of a document's ``chunks`` are among ``texts``, those of the index to be.

    One that pages share (a licence, a notice) says nothing.
    """
    return 2 * sum(chunk.text in texts for chunk in chunks) > len(chunks)


def check_removals(gone: Sequence[str], *, of: int, max_share: float) -> None:
    """Refuse to remove more than this share (0..1) ``of`` so many documents; ``gone`` are paths.

    Raises:
        RemovalsRefused: it is more.
    """
    if len(gone) > max_share * of:
        named = ", ".join(gone[:SHOWN_REMOVALS]) + (", ..." if len(gone) > SHOWN_REMOVALS else "")
        raise RemovalsRefused(
            f"This would remove {len(gone)} of the {of} documents of the index ({named}). "
            "If that is meant, add --allow-removals; if not, see whether the folder is all there, or name another "
            "index with --index. "
            "The index is as it was"
        )


def held_by(
    emptied: Mapping[str, Failure],
    sources: Iterable[Source],
    chunks: Mapping[str, Sequence[Chunk]],
    texts: Collection[str],
) -> tuple[list[Source], tuple[Failure, ...]]:
    """Those of ``sources`` that ``emptied`` places (by path) held, and a sentence about each such place.

    ``chunks`` are those of each doc_id. What moved is held no more: its text is among ``texts``, those read now.
    """
    held: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        place = _place_of(source.path, emptied)
        if place is not None and source.chunks and not has_moved(chunks.get(source.doc_id, ()), texts):
            held[place].append(source)
    said = (
        replace(emptied[place], error=f"{emptied[place].error}, it held {_count(there)}")
        for place, there in held.items()
    )
    return [source for there in held.values() for source in there], tuple(said)


def _place_of(path: str, places: Collection[str]) -> str | None:
    """The first place above ``path``, itself before all others."""
    at = path
    while at not in places:
        if not at:
            return None
        at = at.rpartition("/")[0]
    return at


def _count(sources: Sequence[Source]) -> str:
    if len(sources) > 1:
        return f"{len(sources)} documents"
    chunks = sources[0].chunks
    return f"{chunks} chunk" + ("s" if chunks > 1 else "")
