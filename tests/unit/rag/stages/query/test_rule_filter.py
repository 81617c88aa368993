"""rag.stages.query.rule_filter and retry_unfiltered: the detected filter, and the one search without it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from fakes import FakeIndex, make_hit

from rag.errors import IndexMissing
from rag.stages.query.filter_rules import RuleTable, parse_rules
from rag.stages.query.request_filter import RequestFilter
from rag.stages.query.rule_filter import RuleFilter
from rag.stages.retrieve.dense import DenseRetriever, cosine_scale
from rag.stages.retrieve.retry_unfiltered import RetryUnfiltered, both
from rag.values.answer import Hit, Question, SearchQuery, Where

FIELDS = {"category": "str", "priority": "int"}
TABLE = parse_rules(
    '[{"keywords": ["policy"], "where": {"category": ["abo"], "priority": {"$gte": 7}}},'
    ' {"where": {"category": "docs"}, "priority": -1}]'
)
DETECTED = {"$and": [{"category": {"$in": ["abo"]}}, {"priority": {"$gte": 7}}]}


def filtered(text: str, fields: dict[str, str] = FIELDS, **request: object) -> SearchQuery:
    index = FakeIndex(fields=fields)
    question = Question(text=text, filters=request)
    query = SearchQuery(text=text, top_k=8)
    for stage in (RuleFilter(TABLE, index.fields), RequestFilter(index.fields)):
        query = stage(query, question)
    return query


def test_the_rule_is_kept_apart_from_the_requests_own_filter() -> None:
    query = filtered("the travel policy", priority=9)
    assert query.detected == DETECTED
    assert query.where == {"priority": {"$eq": 9}}
    assert query.trail[0] == "filtered by the word 'policy': category in abo and priority >= 7"


def test_all_the_rules_that_match_are_named() -> None:
    table = parse_rules('[{"keywords": ["x"], "where": {"f": 1}}, {"keywords": ["y"], "where": {"f": 2}}]')
    query = RuleFilter(table, lambda: {"f": "int"})(SearchQuery(text="x or y", top_k=8), Question(text="x or y"))
    assert query.detected == {"f": {"$in": [1, 2]}}
    assert query.trail == ("filtered by the word 'x': f = 1, or by the word 'y': f = 2",)


def test_the_default_rule() -> None:
    query = filtered("hello")
    assert query.detected == {"category": {"$eq": "docs"}}
    assert query.trail == ("filtered by default: category = docs",)


def test_the_rewritten_question_counts() -> None:
    stage = RuleFilter(TABLE, lambda: FIELDS)
    query = stage(SearchQuery(text="the travel policy", top_k=8), Question(text="and that?"))
    assert query.detected == DETECTED


def test_no_rule_on_an_index_that_does_not_know_the_field() -> None:
    assert filtered("the travel policy", {}) == SearchQuery(text="the travel policy", top_k=8)


def test_a_missing_index_is_an_error_unless_there_are_no_rules() -> None:
    index = FakeIndex(broken=IndexMissing("none"))
    query, question = SearchQuery(text="policy", top_k=8), Question(text="policy")
    with pytest.raises(IndexMissing):
        RuleFilter(TABLE, index.fields)(query, question)
    assert RuleFilter(RuleTable(), index.fields)(query, question) == query


ABO = make_hit(number=1, category="abo", cosine=0.5, extra={"priority": 8})
DOCS = make_hit(number=2, category="docs", cosine=0.9, extra={"priority": 9})


@dataclass
class Searches:
    """A retriever over a fake index that remembers how it was asked."""

    hits: tuple[Hit, ...]
    asked: list[Where | None] = field(default_factory=list)

    def __call__(self, query: SearchQuery) -> tuple[Hit, ...]:
        assert query.detected is None, "a retriever knows one filter"
        self.asked.append(query.where)
        return DenseRetriever(FakeIndex(self.hits), cosine_scale)(query)


def found(search: Searches, *, floor: float = -1.0, **query: object) -> tuple[SearchQuery, list[int]]:
    def enough(hits: tuple[Hit, ...]) -> bool:
        return any(hit.score >= floor for hit in hits)

    used, hits = RetryUnfiltered(search, enough)(SearchQuery(text="q", top_k=8, trail=("before",), **query))  # type: ignore[arg-type]
    return used, [hit.chunk.number for hit in hits]


def test_both_filters_at_first() -> None:
    search = Searches((ABO, DOCS))
    used, numbers = found(search, detected=DETECTED, where={"priority": {"$lt": 9}})
    assert numbers == [1]
    assert search.asked == [{"$and": [{"priority": {"$lt": 9}}, *DETECTED["$and"]]}]
    assert used.trail == ("before",)


def test_nothing_left_drops_the_detected_filter_only_and_says_so() -> None:
    search = Searches((DOCS,))
    used, numbers = found(search, detected=DETECTED, where={"priority": {"$eq": 9}})
    assert numbers == [2]
    assert search.asked[1:] == [{"priority": {"$eq": 9}}]
    assert used.trail == ("before", "the detected filter left nothing: searched again without it")
    assert used.detected is None


def test_the_requests_own_filter_is_never_dropped() -> None:
    search = Searches((DOCS,))
    _, numbers = found(search, where={"category": {"$eq": "abo"}})
    assert numbers == []
    assert len(search.asked) == 1


def test_hits_that_are_not_enough_are_nothing() -> None:
    assert found(Searches((ABO, DOCS)), detected=DETECTED, floor=0.5)[1] == [1]
    assert found(Searches((ABO, DOCS)), detected=DETECTED, floor=0.6)[1] == [2, 1]


def test_conditions_are_joined_flat() -> None:
    one, two = {"a": {"$eq": 1}}, {"b": {"$eq": 2}}
    assert both(None, None) is None
    assert both(one, None) == one
    assert both(one, two) == {"$and": [one, two]}
    assert both({"$and": [one, two]}, one) == {"$and": [one, two, one]}
    assert both({"$or": [one, two]}, one) == {"$and": [{"$or": [one, two]}, one]}
