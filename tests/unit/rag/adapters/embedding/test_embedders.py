"""rag.adapters.embedding.embedders: a question is embedded once."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from fakes_embedding import HashingEmbedder

from rag.adapters.embedding.embedders import MAX_QUESTIONS, CachingEmbedder


def test_a_question_is_embedded_once_and_for_good_and_passages_every_time() -> None:
    inner = HashingEmbedder()
    embedder = CachingEmbedder(inner)
    first = embedder.embed(["Which permit?"])
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    assert embedder.embed(["Which permit?"]) is first
    assert inner.calls == 1
    embedder.embed(["a", "b"])
    embedder.embed(["a", "b"])
    assert inner.calls == 3
    assert (embedder.model, embedder.dimensions) == (inner.model, inner.dimensions)


def test_the_oldest_question_is_forgotten() -> None:
    inner = HashingEmbedder()
    embedder = CachingEmbedder(inner)
    for number in range(MAX_QUESTIONS + 1):
        embedder.embed([f"question {number}"])
    embedder.embed(["question 0"])
    assert inner.calls == MAX_QUESTIONS + 2


class SlowEmbedder(HashingEmbedder):
    """Embeds once it is let; fails while ``error`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        assert self.let.wait(30)
        vectors = super().embed(texts)
        if self.error:
            raise self.error
        return vectors


def test_a_question_that_was_begun_ahead_is_not_asked_again() -> None:
    inner = SlowEmbedder()
    embedder = CachingEmbedder(inner)
    begun = embedder.embed_ahead("Which permit?")  # returns, although no vector is there
    assert embedder.embed_ahead("Which permit?") is begun
    inner.let.set()
    assert np.array_equal(embedder.embed(["Which permit?"]), HashingEmbedder().embed(["Which permit?"]))
    assert inner.calls == 1


def test_what_failed_ahead_is_raised_where_it_is_needed_and_then_forgotten_and_a_stored_vector_outlives_it() -> None:
    inner, vector = SlowEmbedder(), np.ones((1, 384), dtype=np.float32)
    inner.error = OSError("unreachable")
    embedder = CachingEmbedder(inner)
    failing = [embedder.embed_ahead(text) for text in ("Which permit?", "And when?")]
    embedder.store_vector("And when?", vector)
    inner.let.set()
    for future in failing:
        with pytest.raises(OSError, match="unreachable"):
            future.result(30)
    with pytest.raises(OSError, match="unreachable"):
        embedder.embed(["Which permit?"])
    inner.error = None
    assert embedder.embed(["Which permit?"]).shape == (1, 384)
    assert (embedder.embed(["And when?"]) is vector, inner.calls) == (True, 4)
