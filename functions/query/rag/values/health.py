"""The facts of a health check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The index that is loaded. ``manifest`` is False for a Chroma folder that was made elsewhere."""

    documents: int
    chunks: int
    embedding_model: str
    built_at: str | None
    version: str
    manifest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmState:
    """Who writes, and what went wrong last; None after a success."""

    engine: Literal["openai", "extractive"]
    model: str
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A service that is ready. ``version`` is the program's."""

    version: str
    profile: str
    index: IndexState
    llm: LlmState
