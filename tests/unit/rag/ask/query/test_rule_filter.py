"""rag.ask.query.filter_rules: the detected filter as a view, or as a wall."""

from __future__ import annotations

import pytest
from fakes import FakeIndex

from knowledge.model.errors import IndexMissing
from knowledge.model.values import View, Where
from rag.ask.query.filter_rules import FILTER_WEIGHT, RuleFilter, RuleTable, parse_rules
from rag.ask.query.where import RequestFilter
from rag.values.question import Question, SearchQuery

FIELDS = {"category": "str", "priority": "int"}
TABLE = parse_rules(
    '[{"keywords": ["policy"], "where": {"category": ["abo"], "priority": {"$gte": 7}}},'
    ' {"where": {"category": "docs"}, "priority": -1}]'
)
DETECTED = {"$and": [{"category": {"$in": ["abo"]}}, {"priority": {"$gte": 7}}]}


def filtered(text: str, fields: dict[str, str] = FIELDS, *, wall: bool = False, **request: object) -> SearchQuery:
    index = FakeIndex(fields=fields)
    question = Question(text=text, filters=request)
    query = SearchQuery(text=text, top_k=8)
    for stage in (RuleFilter(lambda: TABLE, index.fields, wall=wall), RequestFilter(index.fields)):
        query = stage(query, question)
    return query


def view(text: str, where: Where) -> tuple[View]:
    return (View(text, FILTER_WEIGHT, where),)


def test_the_rule_is_a_view_and_the_requests_own_filter_a_wall() -> None:
    query = filtered("the travel policy", priority=9)
    assert query.views == view("the travel policy", DETECTED)
    assert query.where == {"priority": {"$eq": 9}}
    assert query.trail[0] == "prefers, by the word 'policy': category in abo and priority >= 7"


def test_as_a_wall_it_stands_beside_the_requests_own() -> None:
    query = filtered("the travel policy", wall=True, priority=9)
    assert query.views == ()
    assert query.where == {"$and": [{"priority": {"$eq": 9}}, *DETECTED["$and"]]}
    assert query.trail[0] == "filtered by the word 'policy': category in abo and priority >= 7"


def test_all_the_rules_that_match_are_named() -> None:
    table = parse_rules('[{"keywords": ["x"], "where": {"f": 1}}, {"keywords": ["y"], "where": {"f": 2}}]')
    query = RuleFilter(lambda: table, lambda: {"f": "int"})(
        SearchQuery(text="x or y", top_k=8), Question(text="x or y")
    )
    assert query.views == view("x or y", {"$or": [{"f": {"$eq": 1}}, {"f": {"$eq": 2}}]})
    assert query.trail == ("prefers, by the word 'x': f = 1, or by the word 'y': f = 2",)


def test_the_rewritten_question_counts() -> None:
    stage = RuleFilter(lambda: TABLE, lambda: FIELDS)
    query = stage(SearchQuery(text="the travel policy", top_k=8), Question(text="and that?"))
    assert query.views == view("the travel policy", DETECTED)


def test_no_rule_on_an_index_that_does_not_know_the_field() -> None:
    assert filtered("the travel policy", {}) == SearchQuery(text="the travel policy", top_k=8)


def test_a_missing_index_is_an_error_unless_there_are_no_rules() -> None:
    index = FakeIndex(broken=IndexMissing("none"))
    query, question = SearchQuery(text="policy", top_k=8), Question(text="policy")
    with pytest.raises(IndexMissing):
        RuleFilter(lambda: TABLE, index.fields)(query, question)
    assert RuleFilter(RuleTable, index.fields)(query, question) == query
