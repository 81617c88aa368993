"""Fixtures of the evaluation: things that take long to make, once a session, and a machine without settings."""

import os
from collections.abc import Iterator

import pytest
import real_model

from knowledge.embedding import MiniLM


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    """The real embedding model."""
    return real_model.model()


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What this machine sets is not meant; what commands and ``read_settings`` set is taken back."""
    for name in [name for name in os.environ if name.startswith(("LLM_", "RAG_", "STORE_", "INDEX_", "RETRIEVER"))]:
        monkeypatch.delenv(name)
    yield
    for name in ("RAG_PROFILE", "INDEX_URI"):
        os.environ.pop(name, None)
