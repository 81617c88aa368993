"""Ports of the index and of retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from knowledge.model.values import Chunk, Claim, ClaimSupport, Embedder, Hit, SearchResult, View, Where
from rag.values.question import SearchQuery

if TYPE_CHECKING:
    from knowledge.model.values import Vector
    from knowledge.search.candidates import Candidates


class OpenIndex(Protocol):
    """An open, immutable index."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of questions and of texts to compare with chunks."""
        ...

    @property
    def late(self) -> bool:
        """Whether the index has the token vectors that ``search`` needs."""
        ...

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """Return the ``k`` chunks nearest to ``vector``, best first; scores are cosines (-1..1).

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def candidates(self, text: str, vector: Vector, *, k: int, where: Where | None = None) -> Candidates:
        """Return the ``k`` nearest chunks and the ``k`` best by their words, each with both scores.

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """Return the ``k`` best chunks by all signals, for the question ``views[0]`` and its other views.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: the query failed.
        """
        ...

    def language_unlike(self, text: str) -> str:
        """Return the English name of the chunks' language if ``text`` is in another one, else or if unknown ``""``."""
        ...

    def pieces(self, text: str) -> int:
        """Return the number of word pieces of ``text``, which the cost of ``support`` grows with.

        Raises:
            IndexMismatch: the index has no token vectors.
        """
        ...

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """Return the support of each of ``claims`` by the chunks that it cites and the chunks ``among``.

        Words of the ``question`` need no support.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: there is no such chunk.
        """
        ...

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """Return the chunks of ``numbers``, in that order."""
        ...


class Index(Protocol):
    """The current index, which may be replaced; without one its methods raise ``IndexUnavailable``."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """Keep the current index open within a ``with`` block."""
        ...

    def fields(self) -> Mapping[str, str]:
        """Return the metadata fields of its chunks and their types, empty if unknown."""
        ...


class Retriever(Protocol):
    """The retrieval stage."""

    def __call__(self, query: SearchQuery) -> SearchResult:
        """Return the best hits for ``query``, best first, with scores on the retriever's scale.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: the query on the open index failed.
        """
        ...
