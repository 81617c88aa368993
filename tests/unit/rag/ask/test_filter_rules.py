"""rag.ask.filters: which rule of the table a question asks for, as a view or as a wall."""

from pathlib import Path

import pytest
from fakes import FakeIndex

from knowledge.model.errors import IndexMissing
from knowledge.model.values import View, Where
from rag.ask.filters import FILTER_WEIGHT, RequestFilter, RuleFilter, RuleTable, or_where, parse_rules
from rag.errors import ConfigurationError
from rag.values.question import Question, SearchQuery

SAMPLE = parse_rules((Path(__file__).parents[4] / "samples" / "gacounts" / "filters.json").read_text("utf-8"))
FIELDS = {"category": "str", "priority": "int", "sourceEnvironment": "str"}


def where(question: str, fields: dict[str, str] = FIELDS, table: RuleTable = SAMPLE) -> object:
    matched = table.match(question, fields)
    return or_where(matched) if matched else None


GA_COUNTS = {"category": {"$in": ["documentation", "ga_counts_app"]}}
POLICIES = {"$and": [{"category": {"$in": ["abo_policies"]}}, {"priority": {"$gte": 7}}]}
BRAND = {"category": {"$eq": "brand_guidelines"}}
TRAINING = {"category": {"$in": ["ets_training", "leadership_dev"]}}
PRODUCTION = {"sourceEnvironment": {"$eq": "production"}}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I report in GaCounts?", GA_COUNTS),
        ("GA counts: deadline?", GA_COUNTS),
        ("ga-counts login", GA_COUNTS),
        ("What is the travel policy?", POLICIES),
        ("All POLICIES on leave", POLICIES),
        ("Where are the logos?", BRAND),
        ("brand's colours", BRAND),
        ("Which trainings are there?", TRAINING),
        ("Is there GaCounts training?", {"$or": [GA_COUNTS, TRAINING]}),
        ("What is the GaCounts policy?", {"$or": [GA_COUNTS, POLICIES]}),
        ("Where is the policy on training with our logo?", {"$or": [POLICIES, BRAND, TRAINING]}),
        ("Who is the dean?", PRODUCTION),
        ("Georgia has many counts", PRODUCTION),
        ("policyholders and logotypes", PRODUCTION),
        ("", PRODUCTION),
    ],
)
def test_the_seeds_table(question: str, expected: object) -> None:
    assert where(question) == expected


def test_a_rule_whose_field_the_index_does_not_know_is_passed_over() -> None:
    assert where("What is the travel policy?", {"category": "str", "sourceEnvironment": "str"}) == PRODUCTION
    assert where("policy on the logo", {"category": "str"}) == BRAND
    assert where("What is the travel policy?", {"title": "str"}) is None
    assert where("What is the travel policy?", {}) is None


def test_a_rule_whose_value_the_field_cannot_meet_is_passed_over() -> None:
    assert where("policy", {**FIELDS, "priority": "str"}) == PRODUCTION
    assert where("policy", {**FIELDS, "priority": "bool"}) == PRODUCTION
    assert where("policy", {**FIELDS, "priority": "float"}) == POLICIES
    assert where("policy", {**FIELDS, "priority": "mixed"}) == POLICIES


def test_of_several_defaults_the_highest_priority_counts() -> None:
    table = parse_rules('[{"where": {"f": 1}}, {"where": {"f": 2}, "priority": 5}]')
    assert where("anything", {"f": "int"}, table) == {"f": {"$eq": 2}}


def test_a_rule_speaks() -> None:
    (match,) = SAMPLE.match("the policy", FIELDS)
    assert (str(match.rule), match.keyword) == ("category in abo_policies and priority >= 7", "policy")
    (default,) = SAMPLE.match("hello", FIELDS)
    assert (str(default.rule), default.keyword) == ("sourceEnvironment = production", None)


def test_words_end_in_plurals() -> None:
    table = parse_rules('[{"keywords": ["annual policy", "tax", "box office"], "where": {"f": true}}]')
    texts = ("annual policies", "taxes", "box offices", "annually policy", "boxes office")
    assert [where(text, {"f": "bool"}, table) is not None for text in texts] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("{}", "a JSON list of rules"),
        ("[", "a JSON list of rules"),
        ("[1]", "rule 1"),
        ('[{"keywords": ["a"]}]', "rule 1, where"),
        ('[{"where": {"f": 1}}, {"where": {}}]', "rule 2, where"),
        ('[{"keywords": ["?"], "where": {"f": 1}}]', "a keyword is a word"),
        ('[{"where": {"f": [1, "a"]}}]', "where.f must be"),
        ('[{"where": {"f": {"$gte": "7"}}}]', "compares numbers"),
        ('[{"where": {"f": {"$regex": "x"}}}]', "where.f must be"),
        ('[{"where": {"$and": [1]}}]', "a field name starts"),
        ('[{"where": {"f": 1}, "priority": "high"}]', "rule 1, priority"),
        ('[{"where": {"f": 1}, "x": 1}]', "rule 1, x"),
    ],
)
def test_a_table_that_is_none_is_refused(body: str, place: str) -> None:
    with pytest.raises(ConfigurationError, match="The filter rules file") as caught:
        parse_rules(body)
    assert place in str(caught.value)


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
