"""Chroma's client for one folder, started without a look at the environment."""

from __future__ import annotations

import functools
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge.model.errors import IndexDamaged

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.config import Settings
    from pydantic import BaseModel

_importing = threading.Lock()


def open_client(folder: Path) -> Client:
    """A client that keeps its database in ``folder``; close it to give its files and threads back.

    Chroma caches what it opens by path: use a path once.

    Raises:
        IndexDamaged: Chroma cannot read the folder.
    """
    settings_class = _settings_class()
    import chromadb

    settings = settings_class(
        is_persistent=True, persist_directory=str(folder), anonymized_telemetry=False, allow_reset=False
    )
    try:
        client = chromadb.PersistentClient(str(folder), settings=settings)
    except Exception as exc:
        raise IndexDamaged(f"Chroma cannot open the index: {exc}. Run: ragctl ingest PATH") from exc
    return client  # type: ignore[return-value]


@functools.cache
def _settings_class() -> type[Settings]:
    """Chroma's settings class, reading its arguments only. Imports chromadb, late because that takes 0.5 s.

    At import chromadb 1.5.9 builds its settings several times from the environment and from ``./.env``: one wrong
    or non-UTF-8 line in a ``.env`` of the working directory makes ``import chromadb`` itself fail.
    """
    from pydantic_settings import BaseSettings

    with _importing:
        if "chromadb" not in sys.modules:
            usual = BaseSettings.__init__
            type.__setattr__(BaseSettings, "__init__", _from_arguments)
            try:
                import chromadb  # noqa: F401
            finally:
                type.__setattr__(BaseSettings, "__init__", usual)
    from chromadb.config import Settings

    return type("ExplicitSettings", (Settings,), {"__init__": _from_arguments})


def _from_arguments(settings: BaseModel, **values: Any) -> None:
    """Stands in for pydantic_settings' constructor, which reads ``.env`` before it can be told not to."""
    from pydantic import BaseModel

    BaseModel.__init__(settings, **values)
