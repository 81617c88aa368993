"""The lexical side of an index on Chroma's server: BM25 over tables in memory, or what the server finds by words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.cut.embedding_text import embed_text
from knowledge.search.candidates import Signal, best_rows
from knowledge.search.words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.engines.server.records import StoredChunk
    from knowledge.model.values import Where
    from knowledge.search.columns import Columns
    from knowledge.search.lexical import Lexical
    from knowledge.search.term_counts import TermCounts

TABLE_CHUNKS = 100_000
"""Up to so many chunks BM25 and the metadata are tables in memory, about 1 kB a chunk; beyond, words are counted."""
RAREST = 2
"""So many words of a question, the rarest, are looked for by the server."""
LONGEST_WORD = 100
"""Bytes of a word in an expression, of which Chroma Cloud takes 256."""
ASKED = 4
"""So many texts have their scores kept: those of one question are asked for twice."""


class TableSide:
    """BM25 over all chunks, in memory, as an embedded index has it. Safe to use from several threads."""

    def __init__(self, lexical: Lexical, columns: Columns) -> None:
        self._lexical = lexical
        self._columns = columns
        self._scores = lru_cache(maxsize=ASKED)(lexical.scores)

    def best(self, text: str, where: Where | None, *, k: int) -> Mapping[str, Any]:
        """See ``LexicalSide``."""
        scores = self._scores(text)
        rows = self._columns.rows(where) if where else None
        matching = np.flatnonzero(scores) if rows is None else rows[scores[rows] > 0]
        numbers = self._lexical.numbers[best_rows(scores[matching], matching, k)].tolist()
        if not numbers:
            return {}
        if where and rows is None:  # what only Chroma can tell
            return {"ids": [f"id_{number}" for number in numbers], "where": dict(where)}
        return {"numbers": numbers}

    def signal(self, text: str, chunks: Sequence[StoredChunk]) -> Signal:
        """See ``LexicalSide``."""
        numbers = [chunk.chunk.number for chunk in chunks]
        return Signal.of(np.searchsorted(self._lexical.numbers, numbers), self._scores(text))

    def admitted(self, chunks: Sequence[StoredChunk], where: Where) -> NDArray[np.bool_] | None:
        """See ``LexicalSide``."""
        rows = self._columns.rows(where)
        numbers = [chunk.chunk.number for chunk in chunks]
        return None if rows is None else np.isin(numbers, self._lexical.numbers[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ServerSide:
    """The server finds chunks with the question's rarest words; their scores are BM25's, from the index's counts."""

    counts: TermCounts

    def best(self, text: str, where: Where | None, *, k: int) -> Mapping[str, Any]:
        """See ``LexicalSide``.

        By ``$regex``, as ``$contains`` tells capitals from small letters: a word in three forms takes it three times as
        long (docs/scaling.md).
        """
        words = dict.fromkeys(word for _, word in words_of(text) if _is_short(word))
        ranked = sorted((-self.counts.idf(term), word) for word in words for term in self.counts.terms(word)[:1])
        rare = [re.escape(word) for _, word in ranked if self.counts.has(word)][:RAREST]
        if not rare:
            return {}
        asked: dict[str, Any] = {"where_document": {"$regex": f"(?i:{'|'.join(rare)})"}, "limit": k}
        return asked | ({"where": dict(where)} if where else {})

    def signal(self, text: str, chunks: Sequence[StoredChunk]) -> Signal:
        """See ``LexicalSide``."""
        texts = [embed_text(chunk.chunk.title, chunk.chunk.text) for chunk in chunks]
        return Signal(self.counts.scores(text, texts), *self.counts.moments(text))

    def admitted(self, chunks: Sequence[StoredChunk], where: Where) -> None:
        """See ``LexicalSide``: only the server can tell."""
        return


def _is_short(word: str) -> bool:
    return len(re.escape(word).encode(errors="replace")) <= LONGEST_WORD
