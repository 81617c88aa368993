"""The chunks that a question is compared with, fetched from Chroma's server, and the lexical search beside it.

The pool is the server's nearest ``NEAREST`` and the lexical search's best ``BEST``. Up to ``TABLE_CHUNKS`` chunks that
search is BM25 over tables in memory (``TableSearch``); beyond, the server finds the question's two rarest words, and
the same formula scores its results (``WordSearch``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import batched
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.embedding import embed_text
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk, token_stores
from knowledge.model.errors import SearchFailed
from knowledge.search.candidates import Pool, Signal, StoredTokens, best_rows
from knowledge.search.words import find_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector, View, Where
    from knowledge.search.columns import Columns
    from knowledge.search.lexical import Lexical, TermCounts

NEAREST = 100
BEST = 50
TABLE_CHUNKS = 100_000
"""Above this number of chunks BM25 and the metadata, about 1 kB a chunk, are no tables in memory."""
RAREST = 2
"""Words of a question, the rarest, that the server looks for."""
MAX_WORD_BYTES = 100
"""Of a word in an expression; Chroma Cloud takes 256 bytes in all."""
CACHED_TEXTS = 4
"""Texts whose scores are kept: those of one question are needed twice."""
CACHED_CHUNKS = 1000
"""Some 6 kB each."""


class TableSearch:
    """BM25 over all chunks in memory, as in an embedded index. Safe to use from several threads."""

    def __init__(self, lexical: Lexical, columns: Columns) -> None:
        self._lexical = lexical
        self._columns = columns
        self._scores = lru_cache(maxsize=CACHED_TEXTS)(lexical.scores)

    def select(self, text: str, where: Where | None, *, k: int) -> Mapping[str, Any]:
        """Return a selection of the ``k`` best chunks for ``text``; an empty one selects nothing.

        It is ``{"numbers": [...]}``, or arguments of Chroma's ``get``.
        """
        scores = self._scores(text)
        rows = self._columns.rows(where) if where else None
        matching = np.flatnonzero(scores) if rows is None else rows[scores[rows] > 0]
        numbers = self._lexical.numbers[best_rows(scores[matching], matching, k)].tolist()
        if not numbers:
            return {}
        if where and rows is None:  # a filter that only Chroma can apply
            return {"ids": [f"id_{number}" for number in numbers], "where": dict(where)}
        return {"numbers": numbers}

    def score(self, text: str, chunks: Sequence[StoredChunk]) -> Signal:
        """Return the BM25 scores of ``chunks`` for ``text``, with mean and deviation over the whole index."""
        numbers = [chunk.chunk.number for chunk in chunks]
        return Signal.of(np.searchsorted(self._lexical.numbers, numbers), self._scores(text))

    def admits(self, chunks: Sequence[StoredChunk], where: Where) -> NDArray[np.bool_] | None:
        """Return which of ``chunks`` the filter admits, None if only the server can answer it."""
        rows = self._columns.rows(where)
        numbers = [chunk.chunk.number for chunk in chunks]
        return None if rows is None else np.isin(numbers, self._lexical.numbers[rows])


@dataclass(frozen=True, slots=True, eq=False)
class WordSearch:
    """The server finds chunks with the question's rarest words; BM25 scores them by the index's counts."""

    counts: TermCounts

    def select(self, text: str, where: Where | None, *, k: int) -> Mapping[str, Any]:
        """See ``TableSearch``.

        By ``$regex``, as ``$contains`` tells capitals from small letters: a word in three forms takes it three times as
        long (docs/evidence/servers.md).
        """
        words = dict.fromkeys(word for _, word in find_words(text))
        short = [word for word in words if len(re.escape(word).encode(errors="replace")) <= MAX_WORD_BYTES]
        ranked = sorted((-self.counts.idf(term), word) for word in short for term in self.counts.terms(word)[:1])
        rare = [re.escape(word) for _, word in ranked if self.counts.has(word)][:RAREST]
        if not rare:
            return {}
        selection: dict[str, Any] = {"where_document": {"$regex": f"(?i:{'|'.join(rare)})"}, "limit": k}
        return selection | ({"where": dict(where)} if where else {})

    def score(self, text: str, chunks: Sequence[StoredChunk]) -> Signal:
        texts = [embed_text(chunk.chunk.title, chunk.chunk.text) for chunk in chunks]
        return Signal(self.counts.scores(text, texts), *self.counts.moments(text))

    def admits(self, chunks: Sequence[StoredChunk], where: Where) -> None:
        """Return None: only the server can answer it."""
        return


type LexicalSearch = TableSearch | WordSearch


class ServerPassages:
    """A ``PassageSource``: the collection ``name`` of a server, and the lexical search over the same chunks.

    It keeps the chunks that were fetched last: a question needs the same ones when it is searched, answered and
    checked. Safe to use from several threads.
    """

    def __init__(self, database: Database, name: str, lexical: LexicalSearch, dimensions: int) -> None:
        self.database = database
        self.name = name
        self.lexical = lexical
        self.dimensions = dimensions
        self._fetched: dict[int, StoredChunk] = {}  # those fetched last at the end
        self._lock = threading.Lock()

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        filters = [
            {"$and": [dict(where), dict(view.where)]} if where and view.where else where or view.where or None
            for view in views
        ]
        queries = [(view.text, asked[view.text], f) for view, f in zip(views, filters, strict=True)]
        chunks = self.find(queries)
        return Pool(
            numbers=np.array([chunk.chunk.number for chunk in chunks], dtype=np.int64),
            vectors=self.vectors(chunks),
            tokens=token_stores(chunks, self.dimensions),
            bm25={text: self.lexical.score(text, chunks) for text in asked},
            admitted=[self._admits(chunks, f) if view.where else None for view, f in zip(views, filters, strict=True)],
        )

    def find(
        self, queries: Sequence[tuple[str, Vector, Where | None]], *, near: int = NEAREST, best: int = BEST
    ) -> list[StoredChunk]:
        """Return what both searches find for each text, its vector and its filter, by number. All run at once."""
        calls: list[Callable[[], Iterable[StoredChunk]]] = []
        for text, vector, where in queries:
            calls.append(partial(self.database.nearest, self.name, vector, k=near, where=where))
            if selection := self.lexical.select(text, where, k=best):
                get = partial(self.chunks, selection["numbers"]) if "numbers" in selection else None
                calls.append(get or partial(self.database.get, self.name, **selection))
        found: dict[int, StoredChunk] = {}
        with ThreadPoolExecutor(len(calls), thread_name_prefix="chroma-pool") as pool:
            futures = [pool.submit(copy_context().run, call) for call in calls]
            for future in futures:
                found |= self._keep(future.result())
        return [found[number] for number in sorted(found)]

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        return token_stores(self.chunks(numbers), self.dimensions)

    def chunks(self, numbers: Sequence[int]) -> list[StoredChunk]:
        """Return the chunks of ``numbers``, in that order. SearchFailed: one does not exist, or the query failed."""
        with self._lock:
            known = {number: self._fetched[number] for number in numbers if number in self._fetched}
        missing = [number for number in dict.fromkeys(numbers) if number not in known]
        known |= self._keep(self.database.get_chunks(self.name, missing))
        try:
            return [known[number] for number in numbers]
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    def vectors(self, chunks: Sequence[StoredChunk]) -> Matrix:
        """Return the vectors of ``chunks``, one a row."""
        return np.array([chunk.vector for chunk in chunks], dtype=np.float32).reshape(-1, self.dimensions)

    def _keep(self, chunks: Iterable[StoredChunk]) -> dict[int, StoredChunk]:
        """Keep ``chunks``, drop those that were fetched longest ago, and return ``chunks`` by number."""
        found = {chunk.chunk.number: chunk for chunk in chunks}
        with self._lock:
            for number, chunk in found.items():
                self._fetched.pop(number, None)
                self._fetched[number] = chunk
            while len(self._fetched) > CACHED_CHUNKS:
                del self._fetched[next(iter(self._fetched))]
        return found

    def _admits(self, chunks: Sequence[StoredChunk], where: Where | None) -> NDArray[np.bool_] | None:
        if where is None or not chunks:
            return None
        known = self.lexical.admits(chunks, where)
        if known is not None:
            return known
        ids = [chunk.chunk.id for chunk in chunks]
        admitted: set[str] = set()
        for batch in batched(ids, RESULTS):
            admitted.update(self.database.ids(self.name, ids=list(batch), where=dict(where)))
        return np.array([chunk_id in admitted for chunk_id in ids])
