"""What is searched for, one after the other, until something supports an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rag.values.answer import SearchQuery, Where


def attempts(query: SearchQuery) -> Iterator[SearchQuery]:
    """``query`` within its detected filter, then without it; the trail of the second says so.

    A filter that the request asked for stays in both. A rule that fired on the wrong word costs a second search
    instead of the answer.
    """
    if query.detected is not None:
        yield replace(query, where=both(query.where, query.detected), detected=None)
        query = replace(query, trail=(*query.trail, "the detected filter left nothing: searched again without it"))
    yield replace(query, detected=None)


def both(where: Where | None, other: Where | None) -> Where | None:
    """``where`` and ``other``, and-ed as Chroma takes it; None when there is neither."""
    clauses = [clause for given in (where, other) if given for clause in _clauses(given)]
    if len(clauses) > 1:
        return {"$and": clauses}
    return clauses[0] if clauses else None


def _clauses(where: Where) -> list[Where]:
    parts = where.get("$and")
    return list(parts) if isinstance(parts, list) and len(where) == 1 else [where]
