"""One more search without the detected filter when that filter leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rag.ports import Retriever
from rag.values.answer import Hit, SearchQuery, Where


@dataclass(frozen=True, slots=True)
class RetryUnfiltered:
    """Searches with the request's own and the detected filter, then, if that finds nothing, without the detected one.

    A filter that the request asked for is never dropped. Hits that are not ``enough`` for an answer count as
    nothing: a rule that fired on the wrong word costs a second search instead of the answer.
    """

    search: Retriever
    enough: Callable[[tuple[Hit, ...]], bool] = bool

    def __call__(self, query: SearchQuery) -> tuple[SearchQuery, tuple[Hit, ...]]:
        """The query as it was answered, its trail saying so, and the hits.

        Raises:
            IndexUnavailable, SearchFailed: see ``rag.ports.Retriever``.
        """
        if query.detected is None:
            return query, self.search(query)
        filtered = replace(query, where=both(query.where, query.detected), detected=None)
        hits = self.search(filtered)
        if self.enough(hits):
            return filtered, hits
        trail = (*query.trail, "the detected filter left nothing: searched again without it")
        unfiltered = replace(query, detected=None, trail=trail)
        return unfiltered, self.search(unfiltered)


def both(where: Where | None, other: Where | None) -> Where | None:
    """``where`` and ``other``, and-ed as Chroma takes it; None when there is neither."""
    clauses = [clause for given in (where, other) if given for clause in _clauses(given)]
    if len(clauses) > 1:
        return {"$and": clauses}
    return clauses[0] if clauses else None


def _clauses(where: Where) -> list[Where]:
    parts = where.get("$and")
    return list(parts) if isinstance(parts, list) and len(where) == 1 else [where]
