"""An index on Chroma's server: its facts in a private folder, its chunks fetched with each question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import DIMENSIONS, MODEL, Database
from knowledge.engines.server.passages import LexicalSearch, ServerPassages, TableSearch, WordSearch
from knowledge.model.errors import IndexDamaged, IndexMissing
from knowledge.model.values import Chunk, Embedder, Hit, TokenEmbedder, Where
from knowledge.open.opened import ChromaIndex, check_manifest, dense_hits
from knowledge.open.place import read_manifest
from knowledge.open.scratch import Scratch, make_scratch
from knowledge.open.source import verify
from knowledge.search.arrays import load_array
from knowledge.search.candidates import CANDIDATES_PER_SIDE, Candidates, Signal
from knowledge.search.columns import COLUMNS_FOLDER, Columns
from knowledge.search.late_interaction import LateInteractionSearch
from knowledge.search.lexical import LEXICAL_FOLDER, NUMBERS_NAME, Lexical, TermCounts
from knowledge.search.signals import Calibration
from knowledge.search.vectors import Moments

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.model.values import Vector


def open_server_index(uri: str, *, embedder: Embedder, collection: str, token: Callable[[], str] = str) -> ServerIndex:
    """Open the index ``collection`` on the server ``uri`` for questions embedded by ``embedder``.

    Raises:
        IndexMissing: there is none, or it is half-written.
        IndexUnreachable: the server does not answer, or refuses the key that ``token`` gives.
        IndexDamaged: the facts or the chunks were altered.
        IndexMismatch: it was made with another model or format.
    """
    address = ServerAddress.parse(uri)
    connection = Connection(address, token)
    with ExitStack() as undo:
        undo.callback(connection.close)
        database = Database(connection, collection)
        version = database.version_at(address)
        scratch = make_scratch()
        undo.callback(scratch.close)
        facts = scratch.path / "facts"
        database.load_facts(version, facts)
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
        index = ServerIndex(database, manifest, facts, embedder, scratch)
        undo.pop_all()
        return index


def current_version(uri: str, *, collection: str, token: Callable[[], str] = str) -> str:
    """Return the version that ``uri`` names, else the current one, "" for none. IndexUnreachable: no answer."""
    address = ServerAddress.parse(uri)
    if address.version:
        return address.version
    with closing(Connection(address, token)) as connection:
        return Database(connection, collection).current()[0]


def server_model(uri: str, *, collection: str, token: Callable[[], str] = str) -> tuple[str, int]:
    """Return the name and dimensions of an index's embedding model, unopened; it raises as ``open_server_index``."""
    address = ServerAddress.parse(uri)
    with closing(Connection(address, token)) as connection:
        database = Database(connection, collection)
        metadata = database.metadata(database.facts(database.version_at(address)))
    if MODEL not in metadata:
        raise IndexMissing("The index on Chroma's server is not whole. Run: ragctl ingest PATH")
    return str(metadata[MODEL]), int(metadata[DIMENSIONS])


class ServerIndex(ChromaIndex):
    """An index on Chroma's server, opened by ``open_server_index``."""

    def __init__(
        self, database: Database, manifest: Manifest, facts: Path, embedder: Embedder, scratch: Scratch
    ) -> None:
        """``facts`` is the folder of the files that ``manifest`` names; ``scratch``, which is removed, holds it."""
        self._describe(manifest)
        self.embedder = embedder
        numbers = load_array(facts / LEXICAL_FOLDER / NUMBERS_NAME, dtype=np.int64, shape=(manifest.chunks,))
        self.numbers = numbers.tolist()
        self._database = database
        self._scratch = scratch
        self._moments = Moments.load(facts, embedder.dimensions)
        search: LexicalSearch
        if manifest.lexical.get("counted"):
            self.lexical = counts = TermCounts(facts / LEXICAL_FOLDER, manifest.lexical)
            search = WordSearch(counts)
        else:
            self.lexical = lexical = Lexical(facts / LEXICAL_FOLDER, manifest.lexical)
            search = TableSearch(lexical, Columns(facts / COLUMNS_FOLDER, rows=manifest.chunks))
        self._passages = ServerPassages(database, database.chunks(manifest.version), search, embedder.dimensions)
        if manifest.tokens is not None and isinstance(embedder, TokenEmbedder):
            calibration = Calibration.load(manifest.calibration)
            self._late_search = LateInteractionSearch(self._passages, facts, self.lexical, embedder, calibration)

    def nearest(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        # The vectors are exact to a byte a dimension, and so are the cosines.
        found = self._database.nearest(self._passages.name, vector, k=k, where=where)
        cosines = [min(1.0, max(-1.0, float(one.vector @ vector))) for one in found]
        return dense_hits((one.chunk, cosine, one.vector) for one, cosine in zip(found, cosines, strict=True))

    def candidates(
        self, text: str, vector: Vector, *, k: int = CANDIDATES_PER_SIDE, where: Where | None = None
    ) -> Candidates:
        chunks = self._passages.find([(text, vector, where)], near=k, best=k)
        vectors = self._passages.vectors(chunks)
        return Candidates(
            numbers=np.array([one.chunk.number for one in chunks], dtype=np.int64),
            dense=Signal(np.clip(vectors @ vector, -1, 1), *self._moments.statistics(vector)),
            bm25=self._passages.lexical.score(text, chunks),
            vectors=vectors,
        )

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        return tuple(one.chunk for one in self._passages.chunks(list(numbers)))

    def current_version(self) -> str:
        """Return the version that its address names, else the current one; it raises as ``open_server_index``."""
        return self._database.version_at(self._database.connection.address)

    def check_reachable(self) -> None:
        self._database.count(self._passages.name)

    def disconnect(self) -> None:
        self._database.connection.close()

    def close(self) -> None:
        self.disconnect()
        self._scratch.close()
