"""The common base of an open index in a folder and of one on Chroma's server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from types import MappingProxyType
from typing import TYPE_CHECKING

from knowledge.model.errors import IndexMismatch
from knowledge.model.manifest import SPACE
from knowledge.model.values import Chunk, Embedder, Hit, Scalar, SearchResult, View, Where
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates
from knowledge.search.passage import ChunkView

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.model.values import Claim, ClaimSupport, Vector
    from knowledge.search.late_interaction import LateInteractionSearch
    from knowledge.search.terms import WordStatistics

CHUNKS_AT_ONCE = 1000


class ChromaIndex(ABC):
    """One version of an index: search, and chunks by number. Immutable and safe to use from several threads."""

    manifest: Manifest | None
    """None for a Chroma folder that was made elsewhere."""
    version: str
    built_at: str | None
    """ISO 8601 in UTC; None if unknown."""
    embedder: Embedder
    documents: int
    chunks: int
    fields: Mapping[str, str]
    """Metadata field name -> "str", "int", "float", "bool" or "mixed"."""
    numbers: Sequence[int]
    """The numbers of all chunks, ascending."""
    lexical: WordStatistics
    _late_search: LateInteractionSearch | None = None

    @abstractmethod
    def nearest(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        """Return the ``k`` chunks nearest to the unit vector ``vector``, best first, equals by number.

        Their ``score`` is the plain cosine (-1..1), whatever the collection's own space. ``where`` is a Chroma filter
        (several conditions: below ``$and``).

        Raises:
            SearchFailed: the filter is malformed, or Chroma failed.
        """

    @abstractmethod
    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        """Return the ``k`` chunks nearest to ``vector`` and the ``k`` best by BM25 for ``text``, each with both scores.

        ``text`` and its unit vector are the question. A chunk without any of its words is no BM25 candidate.
        ``where`` binds both sides; means and deviations are of the whole collection all the same.

        Raises:
            SearchFailed: the filter is malformed, the vector unusable, or Chroma failed.
        """

    @abstractmethod
    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """Return the chunks of ``numbers``, in that order; SearchFailed: one does not exist, or Chroma failed."""

    def has(self, number: int) -> bool:
        """Return whether there is a chunk with that number."""
        place = bisect_left(self.numbers, number)
        return place < len(self.numbers) and self.numbers[place] == number

    def values(self, field: str) -> Sequence[Scalar]:
        """Return the different values of a metadata field; none where the index has no table of them."""
        return ()

    def check_reachable(self) -> None:  # noqa: B027 - an index in a folder has no server
        """Raise IndexUnreachable where a server that holds the index does not answer."""

    def disconnect(self) -> None:  # noqa: B027 - nor connections
        """Close connections to a server; the next question opens new ones."""

    @abstractmethod
    def close(self) -> None:
        """Release files, threads, connections and the private folder. Closing twice is allowed."""

    @property
    def late(self) -> bool:
        """Whether it has the token vectors that ``search`` needs; a folder made elsewhere has none."""
        return self._late_search is not None

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """Return the ``k`` best chunks by all signals, for the question ``views[0]`` and its other views, in ``where``.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: the filter is malformed, or Chroma failed.
        """
        return self._late().search(views, self.fetch, k=k, where=where)

    def language_unlike(self, text: str) -> str:
        """Return the English name of the chunks' language where ``text`` is in another; else, or if unknown, ``""``."""
        return self._late_search.language_unlike(text) if self._late_search else ""

    def pieces(self, text: str) -> int:
        """Return the number of word pieces of ``text``; IndexMismatch: the index has no token vectors.

        The time of ``support`` grows with the pieces of its claims.
        """
        return self._late().pieces(text)

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """Return how far the chunks that ``claims`` cite, and those ``among``, support each of them.

        What stands in the ``question`` need not stand in a chunk.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: there is no such chunk.
        """
        late_search = self._late()
        numbers = {*among, *(number for claim in claims for number in claim.chunks)}
        return late_search.support(claims, self.fetch(sorted(numbers)), question)

    def chunk(self, number: int) -> Chunk | None:
        """Return the chunk of that number, None when there is none."""
        return self.fetch([number])[0] if self.has(number) else None

    def view(self, number: int, question: str | None = None) -> ChunkView | None:
        """Return the chunk of that number, marked for ``question``; None when there is none."""
        chunk = self.chunk(number)
        if chunk is None or self._late_search is None:
            return ChunkView(chunk) if chunk else None
        return self._late_search.view(chunk, question)

    def iter_chunks(self) -> Iterator[Chunk]:
        """Yield every chunk, by number, read in batches."""
        for batch in batched(self.numbers, CHUNKS_AT_ONCE):
            yield from self.fetch(batch)

    def _describe(self, manifest: Manifest) -> None:
        """Set the fields that ``manifest`` states."""
        self.manifest = manifest
        self.version = manifest.version
        self.built_at = manifest.built_at
        self.documents = manifest.documents
        self.chunks = manifest.chunks
        self.fields = MappingProxyType(dict(manifest.fields))

    def _late(self) -> LateInteractionSearch:
        if self._late_search is None:
            raise IndexMismatch("The index has no token vectors to search or check with. Run: ragctl ingest PATH")
        return self._late_search


def dense_hits(found: Iterable[tuple[Chunk, float, Vector | None]]) -> tuple[Hit, ...]:
    """Return chunks with their cosines (-1..1) and vectors as hits, best first, equals by number."""
    hits = [Hit(chunk=chunk, score=cosine, parts={"dense": cosine}, vector=vector) for chunk, cosine, vector in found]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.number)))


def check_manifest(manifest: Manifest, embedder: Embedder, collection: str) -> None:
    """Raise IndexMismatch for another model, space or collection; the message names both sides."""
    for what, theirs, ours in (
        ("embedding model", manifest.model, embedder.model),
        ("dimensions", manifest.dimensions, embedder.dimensions),
        ("space", manifest.space, SPACE),
        ("collection", manifest.collection, collection),
    ):
        if theirs != ours:
            raise IndexMismatch(
                f"The index was made with {what} {theirs!r}, this program uses {ours!r}. Run: ragctl ingest PATH"
            )
