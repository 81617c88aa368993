"""Chroma's client for one folder, started without a look at the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.engines.settings import settings_class
from knowledge.model.errors import IndexDamaged

if TYPE_CHECKING:
    from chromadb.api.client import Client


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
