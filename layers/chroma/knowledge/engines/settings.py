"""Chroma's settings from arguments alone, for a client of either kind."""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chromadb.config import Settings
    from pydantic import BaseModel

_importing = threading.Lock()


@functools.cache
def settings_class() -> type[Settings]:
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
