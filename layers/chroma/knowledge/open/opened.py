"""An open index: search, and look up chunks by number. Immutable and safe to use from several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from knowledge.engines.embedded.collection import BATCH_RECORDS, Collection, Record
from knowledge.engines.metadata import to_chunk, with_stated_date
from knowledge.model.claims import Claim, ClaimSupport
from knowledge.model.errors import IndexMismatch, SearchFailed
from knowledge.model.values import Chunk, Embedder, Hit, Scalar, SearchResult, View, Where
from knowledge.open.results import hits_of
from knowledge.open.source import PreparedIndex
from knowledge.open.texts import TextStore
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, Sides
from knowledge.search.columns import Columns
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import Lexical
from knowledge.search.passage import ChunkView

if TYPE_CHECKING:
    from knowledge.model.values import Vector

VERSION_CHARS = 12


class Index:
    """One version of an index, opened by ``knowledge.open.index.open_index``."""

    def __init__(
        self,
        *,
        prepared: PreparedIndex,
        collection: Collection,
        embedder: Embedder,
        texts: TextStore | None,
        sides: Callable[[], Sides],
        ids: Mapping[int, str],
        documents: int,
        fields: Mapping[str, str],
        late_search: LateInteractionSearch | None = None,
        columns: Columns | None = None,
    ) -> None:
        """Use ``open_index``. ``texts`` is None for a foreign folder, whose ids ``ids`` maps from numbers."""
        manifest = prepared.manifest
        self.manifest = manifest
        """None for a Chroma folder that was made elsewhere."""
        self.version = manifest.version if manifest else prepared.digest[:VERSION_CHARS]
        self.built_at = manifest.built_at if manifest else None
        """ISO 8601 in UTC; None when unknown."""
        self.embedder = embedder
        self.documents = documents
        self.chunks = len(texts) if texts is not None else len(ids)
        self.fields: Mapping[str, str] = MappingProxyType(dict(fields))
        """Metadata field name -> "str", "int", "float", "bool" or "mixed"."""
        self._prepared = prepared
        self._collection = collection
        self._texts = texts
        self._sides = sides
        self._late_search = late_search
        self._columns = columns
        self._ids = ids
        self._numbers = {chunk_id: number for number, chunk_id in ids.items()}

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to the unit vector ``vector``, best first, equals by number.

        Their ``score`` is the plain cosine (-1..1) and ``distance`` is ``1 - cosine``, whatever the collection's
        own space. ``where`` is a Chroma filter (several conditions: below ``$and``).

        Raises:
            SearchFailed: the filter is malformed, or Chroma failed.
        """
        records = self._collection.query(
            vector, k=k, where=where, with_vectors=with_vectors, with_documents=self._texts is None
        )
        hits = [
            Hit(
                chunk=self._chunk(record),
                score=record.cosine,
                distance=1 - record.cosine,
                parts={"dense": record.cosine},
                vector=record.vector,
            )
            for record in records
        ]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.number)))

    @property
    def lexical(self) -> Lexical:
        """The BM25 side."""
        return self._sides().lexical

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        """The ``k`` chunks nearest to ``vector`` and the ``k`` best by BM25 for ``text``, each with both scores.

        ``text`` and its unit vector are the question. A chunk without any of its words is no BM25 candidate.
        ``where`` binds both sides; means and deviations are of the whole collection all the same.

        Raises:
            SearchFailed: the filter is malformed, the vector unusable, or Chroma failed.
        """
        return self._sides().candidates(self._collection, text, vector, k=k, where=where)

    @property
    def late(self) -> bool:
        """Whether it has the token vectors that ``search`` needs: one made elsewhere has none."""
        return self._late_search is not None

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """The ``k`` best chunks by all signals, for the question ``views[0]`` and its other views, within ``where``.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: the filter is malformed, or Chroma failed.
        """
        if self._late_search is None:
            raise IndexMismatch("The index has no token vectors for a late search. Run: ragctl ingest PATH")
        seen = self._late_search.search(views, k=k, where=where)
        return hits_of(seen, self.fetch(seen.numbers.tolist()))

    def language_unlike(self, text: str) -> str:
        """The English name of the chunks' language where ``text`` is in another; ``""`` where it is not or unknown."""
        return self._late_search.language_unlike(text) if self._late_search else ""

    def pieces(self, text: str) -> int:
        """How many word pieces ``text`` has: what ``support`` takes for a claim grows with them.

        Raises:
            IndexMismatch: the index has no token vectors.
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

    def _late(self) -> LateInteractionSearch:
        if self._late_search is None:
            raise IndexMismatch("The index has no token vectors to check statements with. Run: ragctl ingest PATH")
        return self._late_search

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """The chunks of ``numbers``, in that order; SearchFailed when there is no such chunk, or Chroma failed."""
        wanted = [int(number) for number in numbers]
        if self._columns is not None and self._texts is not None:
            return tuple(self._stored(self._columns, self._texts, number) for number in wanted)
        ids = [self._ids.get(number, f"id_{number}") for number in wanted]
        records = self._collection.get(ids) if ids else ()  # Chroma takes no ids for no condition
        found = {chunk.number: chunk for chunk in map(self._chunk, records)}
        try:
            return tuple(found[number] for number in wanted)
        except KeyError as exc:
            raise SearchFailed(f"The index has no chunk id_{exc}") from exc

    def chunk(self, number: int) -> Chunk | None:
        """The chunk of that number, None when there is none."""
        if (number not in self._texts) if self._texts is not None else (number not in self._ids):
            return None
        return self.fetch([number])[0]

    def view(self, number: int, question: str | None = None) -> ChunkView | None:
        """The chunk of that number as somebody looks at it who asked ``question``; None when there is none."""
        chunk = self.chunk(number)
        if chunk is None or self._late_search is None:
            return ChunkView(chunk) if chunk else None
        return self._late_search.view(chunk, question)

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of all chunks, ascending."""
        return list(self._texts) if self._texts is not None else sorted(self._ids)

    def values(self, field: str) -> Sequence[Scalar]:
        """The different values of a metadata field; none where the index has no table of them."""
        return self._columns.values(field) if self._columns is not None else ()

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every chunk, by number, read in batches."""
        numbers = self.numbers
        for start in range(0, len(numbers), BATCH_RECORDS):
            yield from self.fetch(numbers[start : start + BATCH_RECORDS])

    def check(self) -> None:
        """Nothing: what is open here stays so."""

    def rest(self) -> None:
        """Nothing: it has no connections."""

    def close(self) -> None:
        """Give back files, threads, memory and the private folder. Closing twice is allowed."""
        self._collection.close()
        if self._texts is not None:
            self._texts.close()
        self._prepared.close()

    def _stored(self, columns: Columns, texts: TextStore, number: int) -> Chunk:
        """From our own files, in a tenth of the time that Chroma takes to read metadata."""
        row = texts.row(number)
        if row is None:
            raise SearchFailed(f"The index has no chunk id_{number}")
        return to_chunk(columns.metadata(row), number=number, text=texts.get(number))

    def _chunk(self, record: Record) -> Chunk:
        try:
            if self._texts is None:
                text = record.document or ""
                return with_stated_date(to_chunk(record.metadata, number=self._numbers[record.id], text=text))
            number = int(record.id.removeprefix("id_"))
            return to_chunk(record.metadata, number=number, text=self._texts.get(number))
        except (KeyError, ValueError) as exc:
            raise SearchFailed(f"The index knows no text for {record.id!r}") from exc
