"""The facts of a health check."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Who writes (a vendor of chat models, or "extractive"), and what went wrong last; None after a success."""

    engine: str
    model: str
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A service that is ready. ``version`` is the program's."""

    version: str
    profile: str
    index: IndexState
    llm: LlmState
