"""The chunks that a look compares, of an index on Chroma's server: fetched for the question, with all that it needs.

The pool is the engine's nearest ``NEAREST`` and the lexical side's best ``BEST``. That side is BM25 over tables in
memory up to ``knowledge.engines.server.words.TABLE_CHUNKS`` chunks; beyond, the server is asked for the question's two
rarest words, and what it finds is scored by the same formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk, stored_tokens
from knowledge.engines.server.remembered import Remembered
from knowledge.model.errors import SearchFailed
from knowledge.search.candidates import Signal
from knowledge.search.pool import Pool, StoredTokens

if TYPE_CHECKING:
    from knowledge.model.values import Vector, View, Where

NEAREST = 100
BEST = 50


class LexicalSide(Protocol):
    """Finds chunks by their words."""

    def best(self, text: str, where: Where | None, *, k: int) -> Mapping[str, Any]:
        """What to ask the server for, for the ``k`` best chunks for ``text``.

        Their ``numbers``, or what Chroma's ``get`` takes; empty: nothing.
        """
        ...

    def signal(self, text: str, chunks: Sequence[StoredChunk]) -> Signal:
        """The BM25 scores of ``chunks`` for ``text``, with mean and deviation over the whole index."""
        ...

    def admitted(self, chunks: Sequence[StoredChunk], where: Where) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Which of ``chunks`` the filter admits; None where only the server can tell."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ServerPassages:
    """A ``PassageSource``: the collection ``name`` of a server, and the lexical side of the same chunks."""

    database: Database
    name: str
    lexical: LexicalSide
    dimensions: int
    remembered: Remembered

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """See ``PassageSource``."""
        filters = [both(where, view.where) for view in views]
        found = {
            chunk.chunk.number: chunk
            for some in self.found([(view.text, asked[view.text], f) for view, f in zip(views, filters, strict=True)])
            for chunk in some
        }
        chunks = [found[number] for number in sorted(found)]
        return Pool(
            numbers=np.array([chunk.chunk.number for chunk in chunks], dtype=np.int64),
            vectors=self.vectors(chunks),
            tokens=stored_tokens(chunks, self.dimensions),
            bm25={text: self.lexical.signal(text, chunks) for text in asked},
            admitted=[
                self._admitted(chunks, f) if view.where else None for view, f in zip(views, filters, strict=True)
            ],
        )

    def found(
        self, wanted: Sequence[tuple[str, Vector, Where | None]], *, near: int = NEAREST, best: int = BEST
    ) -> Iterable[tuple[StoredChunk, ...]]:
        """What both sides find for each text, with its vector, within its filter; all at once."""
        calls: list[Callable[[], tuple[StoredChunk, ...]]] = []
        for text, vector, where in wanted:
            calls.append(partial(self.database.nearest, self.name, vector, k=near, where=where))
            if which := self.lexical.best(text, where, k=best):
                calls.append(partial(self._got, which))
        for chunks in together(calls):
            self.remembered.keep(chunks)
            yield chunks

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        """See ``PassageSource``."""
        return stored_tokens(self.chunks(numbers), self.dimensions)

    def chunks(self, numbers: Sequence[int]) -> list[StoredChunk]:
        """The chunks of ``numbers``, in that order.

        Raises:
            SearchFailed: there is no such chunk, or the query failed.
        """
        known = self.remembered.of(numbers)
        lacking = [number for number in dict.fromkeys(numbers) if number not in known]
        for some in batched(lacking, RESULTS):
            read = self.database.get(self.name, ids=[f"id_{number}" for number in some])
            self.remembered.keep(read)
            known |= {chunk.chunk.number: chunk for chunk in read}
        try:
            return [known[number] for number in numbers]
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    def vectors(self, chunks: Sequence[StoredChunk]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The vectors of ``chunks``, one a row."""
        return np.array([chunk.vector for chunk in chunks], dtype=np.float32).reshape(-1, self.dimensions)

    def _got(self, which: Mapping[str, Any]) -> tuple[StoredChunk, ...]:
        if "numbers" in which:
            return tuple(self.chunks(which["numbers"]))
        return self.database.get(self.name, **which)

    def _admitted(
        self, chunks: Sequence[StoredChunk], where: Where | None
    ) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        if where is None or not chunks:
            return None
        known = self.lexical.admitted(chunks, where)
        if known is not None:
            return known
        admitted: set[str] = set()
        for some in batched((chunk.chunk.id for chunk in chunks), RESULTS):
            admitted.update(self.database.ids(self.name, ids=list(some), where=dict(where)))
        return np.array([chunk.chunk.id in admitted for chunk in chunks])


def both(one: Where | None, other: Where | None) -> Where | None:
    """The filter that admits what both do."""
    if one and other:
        return {"$and": [dict(one), dict(other)]}
    return one or other or None


def together[T](calls: Sequence[Callable[[], T]]) -> list[T]:
    """What ``calls`` return, in their order, all begun at once; the first error is raised."""
    if len(calls) == 1:
        return [calls[0]()]
    with ThreadPoolExecutor(max(1, len(calls)), thread_name_prefix="chroma-pool") as pool:
        begun = [pool.submit(copy_context().run, call) for call in calls]
        return [one.result() for one in begun]
