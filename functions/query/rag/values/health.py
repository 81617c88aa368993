"""What there is to say about a service's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The index that is open. ``built_at`` is ISO 8601; it is None, and ``has_manifest`` False, where a Chroma folder
    was made elsewhere."""

    documents: int
    chunks: int
    embedding_model: str
    built_at: str | None
    version: str
    has_manifest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmState:
    """Who writes the answers. ``last_error`` is without the vendor's words, None after a success."""

    engine: Literal["openai", "extractive"]
    model: str
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A service that can answer."""

    profile: str
    index: IndexState
    llm: LlmState
