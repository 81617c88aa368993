"""The ways to search an index that commands offer, and the documents that a search ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge.model.values import Hit
    from knowledge.open.anywhere import AnyIndex

type Search = Callable[[str, int], tuple[Hit, ...]]
"""The best chunks for a text, at most so many, best first."""


class Mode(StrEnum):
    """How to search: by meaning, by words, by both, or by all signals of the index."""

    dense = "dense"
    bm25 = "bm25"
    hybrid = "hybrid"
    late = "late"


def searcher(mode: Mode, index: AnyIndex, *, profile: str) -> Search:
    """The search of ``mode`` on ``index``; a hybrid one weighs the two sides as ``profile`` does.

    Raises:
        IndexMismatch: ``mode`` needs what the index has not: token vectors, or BM25 as a table.
    """
    from knowledge.cut.embedding_text import question_text
    from knowledge.model.values import View

    match mode:
        case Mode.dense:
            return lambda text, k: index.nearest(index.embedder.embed([question_text(text)])[0], k=k)
        case Mode.bm25:
            return _bm25(index)
        case Mode.hybrid:
            return _hybrid(index, profile)
        case Mode.late:
            if not index.late:
                index.search([], k=1)  # raises what is wrong
            return lambda text, k: index.search([View(text)], k=k).hits


def usual(index: AnyIndex) -> Mode:
    """The best way to search that ``index`` allows."""
    return Mode.late if index.late else Mode.hybrid


def words_met(index: AnyIndex, text: str, hits: Sequence[Hit]) -> list[dict[str, float]]:
    """How well each of ``hits`` meets each word of ``text``: the cosine (-1..1) of its best token.

    The mean where a word has several pieces; nothing where ``index`` has no token vectors.
    """
    from knowledge.model.values import View

    evidence = index.search([View(text)], k=1).evidence if index.late else None
    if evidence is None:
        return [{} for _ in hits]
    words: dict[tuple[int, int], list[int]] = {}
    for piece, (start, end) in enumerate(evidence.asked.spans.tolist()):
        before = next(reversed(words), (0, 0))
        if start == before[1] < end and words:  # pieces that touch each other are one word
            words[before[0], end] = [*words.pop(before), piece]
        elif start < end:
            words[start, end] = [piece]
    best = [hit.match.similarities.max(axis=1) if hit.match else None for hit in hits]
    asked = evidence.asked.text
    return [
        {asked[start:end]: float(each[pieces].mean()) for (start, end), pieces in words.items()}
        if each is not None
        else {}
        for each in best
    ]


def best_documents(search: Search, text: str, *, k: int) -> list[Hit]:
    """The best chunk of each of the ``k`` best documents, best first."""
    chunks = k
    while True:
        chunks *= 2
        hits = search(text, chunks)
        best: dict[str, Hit] = {}
        for hit in hits:
            best.setdefault(hit.chunk.doc_id, hit)
        if len(best) >= k or len(hits) < chunks:
            return list(best.values())[:k]


@dataclass(frozen=True, slots=True)
class _Held:
    """An open index as a source of one."""

    index: AnyIndex

    def lease(self) -> AbstractContextManager[AnyIndex]:
        return nullcontext(self.index)

    def fields(self) -> Mapping[str, str]:
        return self.index.fields


def _hybrid(index: AnyIndex, profile: str) -> Search:
    from rag.config.settings import load
    from rag.find.retrieve import DENSE_WEIGHT, HybridRetriever
    from rag.profiles import profile_named
    from rag.values.question import SearchQuery

    knobs = load(profile_named(profile).settings)
    retrieve = HybridRetriever(_Held(index), getattr(knobs, "dense_weight", DENSE_WEIGHT))
    return lambda text, k: retrieve(SearchQuery(text=text, top_k=k)).hits


def _bm25(index: AnyIndex) -> Search:
    import numpy as np

    from knowledge.model.errors import IndexMismatch
    from knowledge.model.values import Hit
    from knowledge.search.lexical import Lexical
    from rag.find.retrieve import best_first

    lexical = index.lexical
    if not isinstance(lexical, Lexical):
        raise IndexMismatch("The index has no table of BM25 to search by words alone. Run: ragctl ingest PATH")

    def search(text: str, k: int) -> tuple[Hit, ...]:
        scores = lexical.scores(text)
        order = best_first(scores, lexical.numbers, min(k, int(np.count_nonzero(scores))))
        chunks = index.fetch(lexical.numbers[order].tolist())
        return tuple(
            Hit(chunk=chunk, score=float(scores[row]), distance=math.nan, parts={"bm25": float(scores[row])})
            for row, chunk in zip(order, chunks, strict=True)
        )

    return search
