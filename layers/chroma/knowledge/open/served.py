"""An index on Chroma's server, opened: its facts fetched to a private folder, its chunks asked for with each question.

It answers like ``knowledge.open.opened.Index``. Immutable and safe to use from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import batched
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.facts import load_facts
from knowledge.engines.server.passages import LexicalSide, ServerPassages
from knowledge.engines.server.records import StoredChunk
from knowledge.engines.server.remembered import Remembered
from knowledge.engines.server.words import ServerSide, TableSide
from knowledge.model.claims import Claim, ClaimSupport
from knowledge.model.errors import IndexDamaged, IndexMismatch, IndexUnavailable
from knowledge.model.values import Chunk, Embedder, Hit, Scalar, SearchResult, TokenEmbedder, View, Where
from knowledge.open.compatible import check_manifest
from knowledge.open.place import read_manifest
from knowledge.open.results import hits_of
from knowledge.open.scratch import Scratch
from knowledge.open.served_version import version_at
from knowledge.open.source import verify
from knowledge.search.arrays import load_array
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, Signal
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, NUMBERS_NAME, Lexical
from knowledge.search.signals import Calibration
from knowledge.search.term_counts import TermCounts
from knowledge.search.vectors import Moments

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.model.values import Vector
    from knowledge.search.lexical import WordStatistics
    from knowledge.search.passage import ChunkView


def open_served(uri: str, *, embedder: Embedder, collection: str, token: Callable[[], str] = str) -> ServedIndex:
    """Open the index called ``collection`` on the server ``uri`` for questions embedded by ``embedder``.

    Raises:
        IndexMissing: there is none, or it is half-written.
        IndexUnreachable: the server does not answer, or refuses the key that ``token`` gives.
        IndexDamaged: what is there is not what was written.
        IndexMismatch: it was made with another model or format.
    """
    address = ServerAddress.parse(uri)
    connection = Connection(address, token)
    with ExitStack() as undo:
        undo.callback(connection.close)
        database = Database(connection, collection)
        version = version_at(database, address)
        try:
            folder = Scratch()
        except OSError as exc:
            raise IndexUnavailable(f"No place to open the index in: {exc}") from exc
        undo.callback(folder.close)
        facts = folder.path / "facts"
        load_facts(database, version, facts)
        manifest = read_manifest(facts)
        if manifest is None:
            raise IndexDamaged("The index's facts on Chroma's server hold no manifest. Run: ragctl ingest PATH")
        verify(facts, manifest.files)
        check_manifest(manifest, embedder, collection)
        count = database.count(database.chunks(version))
        if count != manifest.chunks:
            raise IndexDamaged(
                f"The server has {count} of the index's {manifest.chunks} chunks. Run: ragctl ingest PATH"
            )
        index = ServedIndex(database, version, manifest, facts, embedder, folder)
        undo.pop_all()
        return index


class ServedIndex:
    """See the module. ``documents``, ``chunks``, ``fields``, ``version`` and ``built_at`` are as of an ``Index``."""

    def __init__(
        self, database: Database, version: str, manifest: Manifest, facts: Path, embedder: Embedder, folder: Scratch
    ) -> None:
        """``facts`` is the folder that ``folder`` removes, with what ``manifest`` names."""
        self.manifest = manifest
        self.version = manifest.version
        self.built_at = manifest.built_at
        self.embedder = embedder
        self.documents = manifest.documents
        self.chunks = manifest.chunks
        self.fields: Mapping[str, str] = MappingProxyType(dict(manifest.fields))
        self.numbers: Sequence[int] = load_array(
            facts / LEXICAL_FOLDER / NUMBERS_NAME, dtype=np.int64, shape=(manifest.chunks,)
        ).tolist()
        self._known = frozenset(self.numbers)
        self._database = database
        self._folder = folder
        self._moments = Moments.load(facts, embedder.dimensions)
        self.lexical, side = _lexical(facts, manifest)
        self._passages = ServerPassages(database, database.chunks(version), side, embedder.dimensions, Remembered())
        self._late_search: LateInteractionSearch | None = None
        if manifest.tokens is not None and isinstance(embedder, TokenEmbedder):
            calibration = Calibration.load(manifest.calibration)
            self._late_search = LateInteractionSearch(self._passages, facts, self.lexical, embedder, calibration)

    @property
    def late(self) -> bool:
        """Whether it has the token vectors that ``search`` needs."""
        return self._late_search is not None

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """See ``Index.nearest``. The vectors are exact to a byte a dimension, and so are the cosines."""
        found = self._database.nearest(self._passages.name, vector, k=k, where=where)
        hits = []
        for one in found:
            cosine = min(1.0, max(-1.0, float(one.vector @ vector)))
            parts = {"dense": cosine}
            kept = one.vector if with_vectors else None
            hits.append(Hit(chunk=one.chunk, score=cosine, distance=1 - cosine, parts=parts, vector=kept))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.number)))

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        """See ``Index.candidates``."""
        found: dict[int, StoredChunk] = {}
        for some in self._passages.found([(text, vector, where)], near=k, best=k):
            found |= {one.chunk.number: one for one in some}
        chunks = [found[number] for number in sorted(found)]
        vectors = self._passages.vectors(chunks)
        return Candidates(
            numbers=np.array([one.chunk.number for one in chunks], dtype=np.int64),
            dense=Signal(np.clip(vectors @ vector, -1, 1), *self._moments.statistics(vector)),
            bm25=self._passages.lexical.signal(text, chunks),
            vectors=vectors,
        )

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """See ``Index.search``."""
        seen = self._late().search(views, k=k, where=where)
        return hits_of(seen, self.fetch(seen.numbers.tolist()))

    def language_unlike(self, text: str) -> str:
        """See ``Index.language_unlike``."""
        return self._late().language_unlike(text) if self.late else ""

    def pieces(self, text: str) -> int:
        """See ``Index.pieces``."""
        return self._late().pieces(text)

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """See ``Index.support``."""
        numbers = sorted({*among, *(number for claim in claims for number in claim.chunks)})
        return self._late().support(claims, self.fetch(numbers), question)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """See ``Index.fetch``."""
        return tuple(one.chunk for one in self._passages.chunks([int(number) for number in numbers]))

    def chunk(self, number: int) -> Chunk | None:
        """The chunk of that number, None when there is none."""
        return self.fetch([number])[0] if number in self._known else None

    def view(self, number: int, question: str | None = None) -> ChunkView | None:
        """See ``Index.view``."""
        from knowledge.search.passage import ChunkView

        chunk = self.chunk(number)
        if chunk is None or self._late_search is None:
            return ChunkView(chunk) if chunk else None
        return self._late_search.view(chunk, question)

    def values(self, field: str) -> Sequence[Scalar]:
        """None: it would take a look at every chunk on the server."""
        return ()

    def iter_chunks(self) -> Iterator[Chunk]:
        """Every chunk, by number, read in batches."""
        for some in batched(self.numbers, RESULTS):
            yield from self.fetch(some)

    def version_now(self) -> str:
        """The version that its address names, else the current one. It raises as ``open_served``."""
        return version_at(self._database, self._database.connection.address)

    def check(self) -> None:
        """Ask the server whether it still has the index; IndexUnreachable: it does not answer."""
        self._database.count(self._passages.name)

    @property
    def connected(self) -> bool:
        """Whether it has open connections."""
        return self._database.connection.is_open

    def rest(self) -> None:
        """Close the connections to the server; the next question opens new ones."""
        self._database.connection.close()

    def close(self) -> None:
        """Give back connections and the private folder. Closing twice is allowed."""
        self.rest()
        self._folder.close()

    def _late(self) -> LateInteractionSearch:
        if self._late_search is None:
            raise IndexMismatch("The index has no token vectors. Run: ragctl ingest PATH")
        return self._late_search


def _lexical(facts: Path, manifest: Manifest) -> tuple[WordStatistics, LexicalSide]:
    if manifest.lexical.get("counted"):
        counts = TermCounts(facts / LEXICAL_FOLDER, manifest.lexical)
        return counts, ServerSide(counts)
    lexical = Lexical(facts / LEXICAL_FOLDER, manifest.lexical)
    return lexical, TableSide(lexical, Columns(facts / COLUMNS_FOLDER, rows=manifest.chunks))
