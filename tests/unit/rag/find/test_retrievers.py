"""rag.find.retrieve: the views of a query as one vector, dense retrieval, and all signals of the index."""

import numpy as np
import pytest
from fakes import FakeIndex, make_evidence, make_hit
from fakes_embedding import HashingEmbedder

from knowledge.model.errors import IndexMissing
from knowledge.model.values import SearchResult, View
from rag.find.retrieve import NOT_LATE, DenseRetriever, LateRetriever, blend_views, cosine_scale, l2_scale
from rag.values.question import SearchQuery


def test_without_views_it_is_the_questions_own() -> None:
    embedder = HashingEmbedder()
    query = SearchQuery(text="which permit", top_k=1)
    assert blend_views(query, embedder).tolist() == embedder.embed(["which permit"])[0].tolist()


def test_views_count_by_their_weight_and_those_within_a_filter_do_not() -> None:
    embedder = HashingEmbedder()
    alone, joined = embedder.embed(["and the deadline", "deadline of the export permit"])
    within = View("and the deadline", 0.1, {"year": {"$eq": 7}})
    query = SearchQuery(text="and the deadline", top_k=1, views=(View("deadline of the export permit", 0.5), within))
    vector = blend_views(query, embedder)
    mean = alone + 0.5 * joined
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert vector.dtype == np.float32


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


HITS = (make_hit(number=1, cosine=0.6), make_hit(number=2, cosine=0.9))
JOINED = View("what about fees? Which permit?", 0.6)
QUERY = SearchQuery(text="Which permit?", top_k=7, where={"category": {"$eq": "a"}}, views=(JOINED,))


def hybrid(query: SearchQuery) -> SearchResult:
    return SearchResult(HITS[:1])


def late(index: FakeIndex) -> LateRetriever:
    return LateRetriever(index, hybrid)


def test_the_question_alone_is_the_first_of_its_views() -> None:
    evidence = make_evidence(1.0)
    index = FakeIndex([make_hit(number=1, category="a")], evidence=evidence)
    found = late(index)(QUERY)
    (search,) = index.searches
    assert (search.views, search.k, search.where) == ((View("Which permit?"), JOINED), 7, QUERY.where)
    assert ([hit.chunk.number for hit in found.hits], found.evidence, found.trail) == ([1], evidence, ())


def test_an_index_without_token_vectors_is_searched_by_words_and_meaning_and_says_so() -> None:
    index = FakeIndex(HITS, late=False)
    assert late(index)(QUERY) == SearchResult(HITS[:1], trail=(NOT_LATE,))
    assert index.searches == []


def test_without_an_index_the_reason_is_raised() -> None:
    index = FakeIndex(broken=IndexMissing("none"))
    for retriever in (DenseRetriever(index, l2_scale), late(index)):
        with pytest.raises(IndexMissing):
            retriever(QUERY)
