"""The embedder of a command, the opened index, and a cache of the vectors that an unfinished ingest paid for."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from knowledge.embedding import MiniLM
from knowledge.model.values import Embedder, Matrix, Vector
from knowledge.open.handle import open_anywhere
from knowledge.open.opened import ChromaIndex
from rag.adapters.embedding.embedders import index_embedder, remote_embedder
from rag.adapters.embedding.openai_embedder import batches
from rag.adapters.secrets import index_key
from rag.config.settings import Settings

PAID_NAME = ".embeddings.sqlite"
"""Beside the manifest of an index whose ingest is unfinished."""
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"


def for_questions(settings: Settings, *, threads: int = 1) -> Embedder:
    """Return the embedder that the index of ``settings`` was made with.

    Raises:
        IndexMismatch: the settings name another embedder.
    """
    remote = remote_embedder(settings, side="question")
    place, token = settings.index_place, index_key(settings)
    local = MiniLM(threads=threads)
    return index_embedder(place, local=local, remote=remote, collection=settings.collection, token=token)


def open_for_questions(settings: Settings, *, warm: bool = True) -> ChromaIndex:
    """Open the index of ``settings``.

    Raises:
        IndexUnavailable: there is no usable index.
    """
    return open_anywhere(
        settings.index_place,
        embedder=for_questions(settings),
        collection=settings.collection,
        warm=warm,
        token=index_key(settings),
    )


@contextmanager
def for_documents(settings: Settings, target: Path) -> Iterator[Embedder]:
    """Yield the embedder for making the index in the folder ``target``.

    Vectors of a remote embedder are stored in ``target`` until the block ends without an error: a run after a killed
    or failed one embeds only the rest.
    """
    remote = remote_embedder(settings, side="document")
    if remote is None:
        yield MiniLM(later=True)  # an ingest reads a chunk on each processor
        return
    paid = target / PAID_NAME
    yield PaidOnce(remote, paid)
    paid.unlink(missing_ok=True)


class PaidOnce:
    """An ``Embedder`` that stores the vectors of ``inner`` in the SQLite file ``path``, a batch at a time.

    The file is created at the first batch, when the index's lock is held.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._path = path

    @property
    def model(self) -> str:
        """See ``knowledge.model.values.Embedder``."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """See ``knowledge.model.values.Embedder``."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See ``knowledge.model.values.Embedder``."""
        keys = [self._key(text) for text in texts]
        with closing(_open_database(self._path)) as database:
            known: dict[bytes, Vector] = {}
            for key in set(keys):
                if row := database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone():
                    known[key] = np.frombuffer(row[0], dtype="<f4")
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            for batch in batches(list(missing.values())):
                new = {self._key(text): row for text, row in zip(batch, self._inner.embed(batch), strict=True)}
                with database:
                    rows = [(key, vector.astype("<f4").tobytes()) for key, vector in new.items()]
                    database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known |= new
        return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(keys), self.dimensions)

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(json.dumps([self.model, self.dimensions, text]).encode()).digest()


def _open_database(path: Path) -> sqlite3.Connection:
    """Open the vectors by the digest of their text; a damaged file is deleted, and its vectors are paid for again."""
    from ragctl.reading_cache import connect_database  # late: questions need none of its readers

    try:
        return connect_database(path, _TABLE)
    except sqlite3.DatabaseError:
        path.unlink()
        return connect_database(path, _TABLE)
