"""rag.adapters.remembering: a question is embedded once."""

from __future__ import annotations

import numpy as np
from fakes_embedding import HashingEmbedder

from rag.adapters.remembering import MAX_QUESTIONS, Remembering


def test_a_question_is_embedded_once_and_passages_every_time() -> None:
    inner = HashingEmbedder()
    embedder = Remembering(inner)
    first = embedder.embed(["Which permit?"])
    assert np.array_equal(embedder.embed(["Which permit?"]), first)
    assert inner.calls == 1
    embedder.embed(["a", "b"])
    embedder.embed(["a", "b"])
    assert inner.calls == 3
    assert (embedder.model, embedder.dimensions) == (inner.model, inner.dimensions)


def test_the_oldest_question_is_forgotten() -> None:
    inner = HashingEmbedder()
    embedder = Remembering(inner)
    for number in range(MAX_QUESTIONS + 1):
        embedder.embed([f"question {number}"])
    embedder.embed(["question 0"])
    assert inner.calls == MAX_QUESTIONS + 2
