"""Retrieval by all signals of the index: dense, words, windows and late interaction."""

from __future__ import annotations

from dataclasses import dataclass, replace

from knowledge.model.values import SearchResult, View
from rag.ports.index import Index, Retriever
from rag.values.question import SearchQuery

NOT_LATE = "this index has no token vectors: searched by words and meaning only; run ragctl ingest"


@dataclass(frozen=True, slots=True)
class LateRetriever:
    """Asks the index for its best chunks by all that it knows, for the question and its other views.

    An index without token vectors (made elsewhere, or with a remote embedder) is searched by ``hybrid``, and
    ``SearchResult.trail`` says so.
    """

    index: Index
    hybrid: Retriever

    def __call__(self, query: SearchQuery) -> SearchResult:
        """See ``rag.ports.index.Retriever``; a hit's ``score`` is about .2 to 1, as ``knowledge.search`` explains."""
        with self.index.lease() as index:
            if index.late:
                return index.search((View(query.text), *query.views), k=query.top_k, where=query.where)
        return replace(self.hybrid(query), trail=(NOT_LATE,))
