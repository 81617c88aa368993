"""rag.find.retrieve.late: all signals of the index, or what is left of them."""

from __future__ import annotations

import pytest
from fakes import FakeIndex, make_evidence, make_hit

from knowledge.model.errors import IndexMissing
from knowledge.model.values import SearchResult, View
from rag.find.retrieve.late import NOT_LATE, LateRetriever
from rag.values.question import SearchQuery

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
    with pytest.raises(IndexMissing):
        late(FakeIndex(broken=IndexMissing("none")))(QUERY)
