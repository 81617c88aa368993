"""Chroma's client for one folder and the collection in it, started without a look at the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.engines.settings import settings_class
from knowledge.model.errors import IndexDamaged, IndexMismatch, KnowledgeError

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

SYNC_THRESHOLD_RECORDS = 2
"""Chroma flushes HNSW after a call that adds this many (2 is the least), so every batch is on disk when it returns.
What is not flushed is replayed from the log at the first query after each open: up to 126 ms, and it writes to the
HNSW files, which the opener only links to."""

HNSW_EFFORT = 200
"""Candidates looked at when building and searching; Chroma's default is 100. On 10,417 real passages recall@10 went
from .996 to 1.000 (.994 to .996 with short questions), and a query from 1.1 to 1.2 ms."""


def open_client(folder: Path) -> Client:
    """A client that keeps its database in ``folder``; close it to give its files and threads back.

    Chroma caches what it opens by path: use a path once.

    Raises:
        IndexDamaged: Chroma cannot read the folder.
    """
    explicit = settings_class()
    import chromadb

    settings = explicit(
        is_persistent=True, persist_directory=str(folder), anonymized_telemetry=False, allow_reset=False
    )
    try:
        client = chromadb.PersistentClient(str(folder), settings=settings)
    except Exception as exc:
        raise IndexDamaged(f"Chroma cannot open the index: {exc}. Run: ragctl ingest PATH") from exc
    return client  # type: ignore[return-value]


def create_collection(folder: Path, name: str) -> tuple[Client, Collection]:
    """An empty collection in cosine space in ``folder``, and the client to close.

    Raises:
        IndexDamaged: Chroma cannot read the folder.
        KnowledgeError: Chroma could not make it.
    """
    client = open_client(folder)
    from chromadb.api.collection_configuration import CreateCollectionConfiguration, CreateHNSWConfiguration

    try:
        graph = CreateHNSWConfiguration(
            space="cosine",
            sync_threshold=SYNC_THRESHOLD_RECORDS,
            ef_construction=HNSW_EFFORT,
            ef_search=HNSW_EFFORT,
        )
        made = client.create_collection(
            name, embedding_function=None, configuration=CreateCollectionConfiguration(hnsw=graph)
        )
    except Exception as exc:
        client.close()
        raise KnowledgeError(f"Chroma could not create the collection {name!r}: {exc}") from exc
    return client, made


def open_collection(folder: Path, name: str) -> tuple[Client, Collection]:
    """The collection ``name`` in ``folder``, which must be writable, and the client to close.

    Raises:
        IndexMismatch: there is no collection of that name; the message names those that exist.
        IndexDamaged: Chroma cannot read the folder.
    """
    client = open_client(folder)
    try:
        found = {collection.name: collection for collection in client.list_collections()}
    except Exception as exc:
        client.close()
        raise IndexDamaged(f"Chroma cannot open the index: {exc}. Run: ragctl ingest PATH") from exc
    if name not in found:
        client.close()
        known = ", ".join(map(repr, sorted(found))) or "none"
        raise IndexMismatch(f"The index has no collection {name!r}; it has {known}")
    return client, found[name]
