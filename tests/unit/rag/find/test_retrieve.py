"""rag.find.retrieve: searches by vector, by words and by all signals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from fakes import FakeIndex, make_evidence, make_hit
from fakes_embedding import HashingEmbedder
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Chunk, SearchResult, View, Where
from knowledge.search.candidates import Candidates, Signal
from rag.find import retrieve
from rag.values.question import SearchQuery


def test_views_count_by_their_weight_and_those_within_a_filter_do_not() -> None:
    embedder = HashingEmbedder()
    alone, joined = embedder.embed(["and the deadline", "deadline of the export permit"])
    within = View("and the deadline", 0.1, {"year": {"$eq": 7}})
    query = SearchQuery(text="and the deadline", top_k=1, views=(View("deadline of the export permit", 0.5), within))
    vector = retrieve.blend_views(query, embedder)
    mean = alone + 0.5 * joined
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert vector.dtype == np.float32


@pytest.mark.parametrize(("cosine", "score"), [(0.575, 0.15), (-1.0, -3.0)])
def test_waypoints_scale_is_1_less_the_squared_l2_distance(cosine: float, score: float) -> None:
    squared_l2 = 2 * (1 - cosine)
    assert retrieve.l2_scale(cosine) == pytest.approx(score) == pytest.approx(1 - squared_l2)
    assert retrieve.cosine_scale(cosine) == cosine


def test_hits_come_best_first_on_the_scale_and_keep_their_cosine() -> None:
    embedder = HashingEmbedder()
    hits = [make_hit(number=n, cosine=cosine, category="a") for n, cosine in enumerate((0.6, 0.9, 0.1), start=1)]
    index = FakeIndex([*hits, make_hit(number=4, category="b")], embedder=embedder)
    query = SearchQuery(text="which permit", top_k=2, where={"category": {"$eq": "a"}})
    found = retrieve.DenseRetriever(index, retrieve.l2_scale)(query)
    assert [hit.chunk.number for hit in found.hits] == [2, 1]
    assert [hit.score for hit in found.hits] == pytest.approx([0.8, 0.2])
    assert [hit.parts["dense"] for hit in found.hits] == [0.9, 0.6]
    assert embedder.texts == ["which permit"]
    assert index.searches[0].vector.tolist() == embedder.embed(["which permit"])[0].tolist()
    assert index.leases == 0


HITS = (make_hit(number=1, cosine=0.6), make_hit(number=2, cosine=0.9))
JOINED = View("what about fees? Which permit?", 0.6)
QUERY = SearchQuery(text="Which permit?", top_k=7, where={"category": {"$eq": "a"}}, views=(JOINED,))


def late(index: FakeIndex) -> retrieve.LateRetriever:
    return retrieve.LateRetriever(index, lambda query: SearchResult(HITS[:1]))


def test_the_question_alone_is_the_first_of_its_views() -> None:
    evidence = make_evidence(1.0)
    index = FakeIndex([make_hit(number=1, category="a")], evidence=evidence)
    found = late(index)(QUERY)
    (search,) = index.searches
    assert (search.views, search.k, search.where) == ((View("Which permit?"), JOINED), 7, QUERY.where)
    assert ([hit.chunk.number for hit in found.hits], found.evidence, found.trail) == ([1], evidence, ())


def test_an_index_without_token_vectors_is_searched_by_words_and_meaning_and_says_so() -> None:
    index = FakeIndex(HITS, late=False)
    assert late(index)(QUERY) == SearchResult(HITS[:1], trail=(retrieve.NOT_LATE,))
    assert index.searches == []


DENSE = Signal(np.array([0.7, 0.4, 0.1, 0.1], dtype=np.float32), 0.1, 0.1)
WORDS = Signal(np.array([0.0, 8.0, 4.0, 4.0], dtype=np.float32), 0.5, 0.5)


@pytest.mark.parametrize(("weight", "fused"), [(1.0, [6, 3, 0, 0]), (0.7, [3.9, 6.6, 2.1, 2.1])])
def test_fused_scores_are_weighted_deviations(weight: float, fused: list[float]) -> None:
    assert retrieve.fuse(DENSE, WORDS, weight) == pytest.approx(fused, abs=1e-4)


@given(scores=st.lists(st.integers(0, 3), max_size=20), k=st.integers(1, 25))
def test_best_first_equals_by_number(scores: list[int], k: int) -> None:
    numbers = np.arange(len(scores), dtype=np.int64)[::-1].copy()
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], numbers[row]))[:k]
    assert retrieve.best_first(np.array(scores, dtype=np.float32), numbers, k).tolist() == expected


class TwoSided(FakeIndex):
    """An index that finds four chunks by both sides, whatever is asked."""

    def __init__(self) -> None:
        super().__init__([make_hit(number=number) for number in (11, 12, 13, 14)])
        self.asked: list[tuple[str, int, Where | None]] = []
        self.fetched: list[int] = []

    def candidates(self, text: str, vector: np.ndarray, *, k: int, where: Where | None = None) -> Candidates:
        assert self.leases
        assert vector.tolist() == self.embedder.embed([text])[0].tolist()
        self.asked.append((text, k, where))
        numbers = np.array([hit.chunk.number for hit in self.hits])
        return Candidates(numbers=numbers, dense=DENSE, bm25=WORDS, vectors=np.eye(4, dtype=np.float32))

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        assert self.leases
        self.fetched = list(numbers)
        return super().fetch(self.fetched)


def test_hits_come_best_first_with_every_score_and_their_vector() -> None:
    hits = retrieve.HybridRetriever(TwoSided(), 0.7)(SearchQuery(text="which permit", top_k=3)).hits
    assert [hit.chunk.number for hit in hits] == [12, 11, 13]  # 14 is as good as 13, and later
    assert [hit.parts["fused"] for hit in hits] == pytest.approx([6.6, 3.9, 2.1], abs=1e-4)
    assert [hit.parts["dense"] for hit in hits] == pytest.approx([0.4, 0.7, 0.1])
    assert [hit.parts["bm25"] for hit in hits] == [8, 0, 4]
    assert [hit.score for hit in hits] == pytest.approx([0.76, 0.49, 0.31], abs=1e-5)  # mean .1 + std .1 x fused
    assert [hit.vector.tolist().index(1) for hit in hits if hit.vector is not None] == [1, 0, 2]


@pytest.mark.parametrize(("top_k", "asked"), [(2, 20), (50, 50)])
def test_each_side_gives_its_pool_and_only_the_best_are_fetched(
    top_k: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieve, "CANDIDATES_PER_SIDE", 20)
    index, where = TwoSided(), {"year": {"$eq": 7}}
    retrieve.HybridRetriever(index, 0.7)(SearchQuery(text="which permit", top_k=top_k, where=where))
    assert index.asked == [("which permit", asked, where)]
    assert index.fetched == [12, 11, 13, 14][:top_k]
