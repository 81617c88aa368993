"""rag.find.retrieve.dense: dense retrieval and the profiles' scales."""

from __future__ import annotations

import pytest
from fakes import FakeIndex, make_hit
from fakes_embedding import HashingEmbedder

from knowledge.model.errors import IndexMissing
from rag.find.retrieve.dense import DenseRetriever, cosine_scale, l2_scale
from rag.values.question import SearchQuery


@pytest.mark.parametrize(("cosine", "score"), [(0.575, 0.15), (-1.0, -3.0)])
def test_waypoints_scale_is_1_less_the_squared_l2_distance(cosine: float, score: float) -> None:
    squared_l2 = 2 * (1 - cosine)
    assert l2_scale(cosine) == pytest.approx(score) == pytest.approx(1 - squared_l2)
    assert cosine_scale(cosine) == cosine


def test_hits_come_best_first_on_the_scale_and_keep_their_cosine() -> None:
    index = FakeIndex([make_hit(number=1, cosine=0.6), make_hit(number=2, cosine=0.9), make_hit(number=3, cosine=0.1)])
    hits = DenseRetriever(index, l2_scale)(SearchQuery(text="which permit", top_k=2)).hits
    assert [hit.chunk.number for hit in hits] == [2, 1]
    assert [hit.score for hit in hits] == pytest.approx([0.8, 0.2])
    assert [hit.distance for hit in hits] == pytest.approx([0.2, 0.8])
    assert [hit.parts["dense"] for hit in hits] == [0.9, 0.6]


def test_the_question_is_embedded_by_the_indexs_own_embedder() -> None:
    embedder = HashingEmbedder()
    index = FakeIndex([make_hit()], embedder=embedder)
    DenseRetriever(index, l2_scale)(SearchQuery(text="which permit", top_k=7, where={"year": {"$eq": 7}}))
    (search,) = index.searches
    assert embedder.texts == ["which permit"]
    assert search.vector.tolist() == embedder.embed(["which permit"])[0].tolist()
    assert (search.k, search.where) == (7, {"year": {"$eq": 7}})
    assert index.leases == 0


def test_without_an_index_the_reason_is_raised() -> None:
    with pytest.raises(IndexMissing):
        DenseRetriever(FakeIndex(broken=IndexMissing("none")), l2_scale)(SearchQuery(text="q", top_k=1))
