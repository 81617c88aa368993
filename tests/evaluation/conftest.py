"""Fixtures of the evaluation: things that take long to make, once a session."""

import pytest
import real_model

from knowledge.embedding import MiniLM


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    """The real embedding model."""
    return real_model.model()
