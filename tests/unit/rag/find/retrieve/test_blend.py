"""rag.find.retrieve.blend: the views of a query as one vector."""

from __future__ import annotations

import numpy as np
import pytest
from fakes_embedding import HashingEmbedder

from knowledge.model.values import View
from rag.find.retrieve.blend import blended
from rag.values.question import SearchQuery


def test_without_views_it_is_the_questions_own() -> None:
    embedder = HashingEmbedder()
    query = SearchQuery(text="which permit", top_k=1)
    assert blended(query, embedder).tolist() == embedder.embed(["which permit"])[0].tolist()


def test_views_count_by_their_weight_and_those_within_a_filter_do_not() -> None:
    embedder = HashingEmbedder()
    alone, joined = embedder.embed(["and the deadline", "deadline of the export permit"])
    within = View("and the deadline", 0.1, {"year": {"$eq": 7}})
    query = SearchQuery(text="and the deadline", top_k=1, views=(View("deadline of the export permit", 0.5), within))
    vector = blended(query, embedder)
    mean = alone + 0.5 * joined
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert vector.dtype == np.float32
