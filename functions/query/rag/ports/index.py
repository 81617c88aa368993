"""The index, and what finds chunks in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from knowledge.model.claims import Claim, ClaimSupport
from knowledge.model.values import Chunk, Embedder, Hit, SearchResult, View, Where
from rag.values.question import SearchQuery

if TYPE_CHECKING:
    from knowledge.model.values import Vector
    from knowledge.search.candidates import Candidates


class OpenIndex(Protocol):
    """One open index; nothing in it changes while it is open."""

    @property
    def embedder(self) -> Embedder:
        """The index's own embedder: of questions, and of what is compared with its chunks."""
        ...

    @property
    def late(self) -> bool:
        """Whether it has token vectors, so that ``search`` finds something."""
        ...

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to ``vector``, best first; scores are cosines (-1..1).

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def candidates(self, text: str, vector: Vector, *, k: int, where: Where | None = None) -> Candidates:
        """The ``k`` nearest chunks and the ``k`` best by their words, each with both scores.

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """The ``k`` best chunks by all signals of the index, for the question ``views[0]`` and its other views.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: the query failed.
        """
        ...

    def language_unlike(self, text: str) -> str:
        """The English name of the chunks' language where ``text`` is in another; ``""`` where it is not or unknown."""
        ...

    def pieces(self, text: str) -> int:
        """How many word pieces ``text`` has: what ``support`` takes grows with them. IndexMismatch as there."""
        ...

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """Return how far the chunks that ``claims`` cite, and those ``among``, support each of them.

        What stands in the ``question`` need not stand in a chunk.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: there is no such chunk.
        """
        ...

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """The chunks of ``numbers``, in that order."""
        ...


class Index(Protocol):
    """The index that is current, which another may replace; its methods raise ``IndexUnavailable`` without one."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """The current index, kept open for the length of a ``with`` block."""
        ...

    def fields(self) -> Mapping[str, str]:
        """The metadata fields of its chunks and their types; empty when it does not know them."""
        ...


class Retriever(Protocol):
    """Finds chunks."""

    def __call__(self, query: SearchQuery) -> SearchResult:
        """The best hits for ``query``, best first, scores on the retriever's scale.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: the query on the open index failed.
        """
        ...
