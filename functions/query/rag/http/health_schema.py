"""The part of the contract that says how the service is."""

from __future__ import annotations

from typing import Literal

from rag.http.schema import Reply


class IndexHealth(Reply):
    """The index that is loaded. A Chroma folder that was made elsewhere has no manifest, and builtAt is null."""

    documents: int
    chunks: int
    embedding_model: str
    built_at: str | None
    version: str
    manifest: bool


class LlmHealth(Reply):
    """Who writes the answers: a vendor of chat models, or extractive.

    No call is made to find out. lastError is null after a success.
    """

    engine: str
    model: str
    last_error: str | None


class HealthReply(Reply):
    """The service is ready. version is the program's, index.version a hash of the index's content.

    store is where turns, votes and kept answers are: sqlite or dynamodb, null where nothing is kept.
    """

    status: Literal["ok"] = "ok"
    version: str
    profile: str
    index: IndexHealth
    llm: LlmHealth
    store: str | None
