"""rag.ask.filters: conditions of requests and of rules as Chroma's where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeIndex
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexMissing
from knowledge.model.values import View, Where
from rag.ask.filters import FILTER_WEIGHT, RequestFilter, RuleFilter, RuleTable, and_where, or_where, parse_rules
from rag.errors import ConfigurationError, InvalidParameter
from rag.values.question import Question, SearchQuery

FIELDS = {"year": "int", "weight": "float", "region": "str", "public": "bool", "odd": "mixed"}
QUERY = SearchQuery(text="q", top_k=10)


def where(filters: Mapping[str, object], fields: Mapping[str, str] = FIELDS) -> object:
    return RequestFilter(lambda: fields)(QUERY, Question(text="q", filters=filters)).where


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"public": False}, {"public": {"$eq": False}}),
        ({"year": 2024.0}, {"year": {"$eq": 2024}}),
        ({"year": -(2**63)}, {"year": {"$eq": -(2**63)}}),
        ({"year": 2**63 - 1}, {"year": {"$eq": 2**63 - 1}}),
        # Chroma 1.5.9 would cut 7.5 to 7 and then find 7 for "$gte 7.5".
        ({"year": {"$gte": 7.5}}, {"year": {"$gte": 8}}),
        ({"year": {"$gt": 7.5}}, {"year": {"$gt": 7}}),
        ({"year": {"$lte": 7.5}}, {"year": {"$lte": 7}}),
        ({"year": {"$lt": 7.5}}, {"year": {"$lt": 8}}),
        ({"weight": 7}, {"weight": {"$eq": 7.0}}),
        ({"region": ["SG", "MY"]}, {"region": {"$in": ["SG", "MY"]}}),
        ({"weight": {"$lt": 30}}, {"weight": {"$lt": 30.0}}),
        ({"odd": "a\ud800"}, {"odd": {"$eq": "a\ufffd"}}),
        ({"jurisdiction": "SG"}, {"jurisdiction": {"$eq": "SG"}}),  # no document has one: nothing is found
        ({"chunk_index": {"$gte": 2}}, {"chunk_index": {"$gte": 2}}),
        ({"region": "SG", "year": {"$gte": 2020}}, {"$and": [{"region": {"$eq": "SG"}}, {"year": {"$gte": 2020}}]}),
    ],
)
def test_conditions(filters: Mapping[str, object], expected: object) -> None:
    assert str(where(filters)) == str(expected)  # 2024 is no 2024.0


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"$gte": 5.2}, {"$ne": 5}),
        ({"$lt": 5.2}, {"$eq": 5}),
        ({"$gt": 5.2}, None),
        ({"$lte": -5.2}, {"$ne": -5}),
        ({"$eq": 5.5}, {"$ne": 5}),
        ({"$ne": 5.5}, {"$eq": 5}),
        ({"$in": [5.5, 6.5, 6.0]}, {"$nin": [5]}),
        ({"$in": [6.0, 7.0]}, None),
    ],
)
def test_the_whole_number_that_chroma_takes_for_a_fraction_is_named(
    wanted: dict[str, object], named: dict[str, object] | None
) -> None:
    asked = wanted.get("$eq", wanted.get("$in", wanted))
    clause: object = {"weight": wanted}
    if named is not None:
        clause = {"$or" if "$eq" in named else "$and": [clause, {"weight": named}]}
    found = where({"weight": asked})
    assert str(found) == str(clause)  # the number named is an int
    assert where({"weight": asked, "region": "SG"}) == and_where(found, {"region": {"$eq": "SG"}})  # type: ignore[arg-type]


def test_an_earlier_where_and_trail_stay() -> None:
    query = SearchQuery(text="q", top_k=10, where={"region": {"$eq": "SG"}}, trail=("expanded GST",))
    filtered = RequestFilter(lambda: FIELDS)(query, Question(text="q", filters={"year": 2024}))
    assert filtered.where == {"$and": [{"year": {"$eq": 2024}}, {"region": {"$eq": "SG"}}]}
    assert filtered.trail == ("expanded GST", "filtered by the request's own filters: year")


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (
            {"colour": "red"},
            "unknown field 'colour'; this index knows: category, chunk_count, chunk_index, dated, doc_id,"
            " jurisdiction, last_updated, odd, path, public, region, section, source_org, source_type, source_urls,"
            " title, url, weight, year",
        ),
        ({"weight": "7"}, "filters.weight has a value of the wrong type; the field holds numbers"),
        ({"region": 7}, "filters.region has a value of the wrong type; the field holds text"),
        ({"year": 2024.5}, "filters.year has a value of the wrong type; the field holds whole numbers"),
        ({"year": True}, "filters.year has a value of the wrong type; the field holds whole numbers"),
        ({"public": 1}, "filters.public has a value of the wrong type; the field holds true or false"),
        ({"public": {"$gte": 1}}, "filters.public: $gte compares numbers; the field holds true or false"),
        ({"year": {"$gte": "2024"}}, "filters.year: $gte compares numbers"),
        ({"year": {"$in": [1]}}, "filters.year must be"),
        ({"year": {"$gte": 1, "$lte": 2}}, "filters.year must be"),
        ({"odd": [1, "a"]}, "filters.odd must be"),
        ({"odd": []}, "filters.odd must be"),
        ({"year": 2**63}, "64 bits"),
        ({"weight": -(2**63) - 1}, "64 bits"),
        ({"weight": [float("inf")]}, "64 bits"),
        ({"year": {"$lte": float("inf")}}, "64 bits"),
        ({"$and": 1}, "field name"),
        ({"f" * 65: 1}, "field name"),
    ],
)
def test_what_is_not_accepted_is_named(filters: Mapping[str, object], told: str) -> None:
    with pytest.raises(InvalidParameter, match=r"^filters") as caught:
        where(filters)
    assert told in caught.value.sentence()


def test_an_index_that_does_not_know_its_fields_takes_any() -> None:
    assert where({"f0" * 32: 7.5}, {}) == {"f0" * 32: {"$eq": 7.5}}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
WANTED = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(st.sampled_from(["$gte", "$lte", "$gt", "$lt", "$ne", "$in", "x"]), SCALARS, max_size=2)
)


@given(st.dictionaries(st.sampled_from(list(FIELDS)) | st.text(max_size=3), WANTED, max_size=4), st.booleans())
def test_any_filter_gives_a_where_or_an_invalid_parameter(filters: dict[str, object], known: bool) -> None:
    try:
        where(filters, FIELDS if known else {})
    except InvalidParameter as error:
        error.sentence().encode("utf-8")


SAMPLE = parse_rules((Path(__file__).parents[4] / "samples" / "gacounts" / "filters.json").read_text("utf-8"))
RULE_FIELDS = {"category": "str", "priority": "int", "sourceEnvironment": "str"}


def rule_where(question: str, fields: dict[str, str] = RULE_FIELDS, table: RuleTable = SAMPLE) -> object:
    matched = table.match(question, fields)
    return or_where(matched) if matched else None


GA_COUNTS = {"category": {"$in": ["documentation", "ga_counts_app"]}}
POLICIES: dict[str, list[Any]] = {"$and": [{"category": {"$in": ["abo_policies"]}}, {"priority": {"$gte": 7}}]}
BRAND = {"category": {"$eq": "brand_guidelines"}}
TRAINING = {"category": {"$in": ["ets_training", "leadership_dev"]}}
PRODUCTION = {"sourceEnvironment": {"$eq": "production"}}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I report in GaCounts?", GA_COUNTS),
        ("GA counts: deadline?", GA_COUNTS),
        ("ga-counts login", GA_COUNTS),
        ("All POLICIES on leave", POLICIES),
        ("brand's colours", BRAND),
        ("Which trainings are there?", TRAINING),
        ("Where is the policy on training with our logos?", {"$or": [POLICIES, BRAND, TRAINING]}),
        ("Who is the dean?", PRODUCTION),
        ("policyholders and logotypes", PRODUCTION),
    ],
)
def test_the_seeds_table(question: str, expected: object) -> None:
    assert rule_where(question) == expected


def test_a_rule_whose_field_the_index_does_not_know_or_cannot_meet_is_passed_over() -> None:
    assert rule_where("the travel policy", {"category": "str", "sourceEnvironment": "str"}) == PRODUCTION
    assert rule_where("policy on the logo", {"category": "str"}) == BRAND
    assert rule_where("the travel policy", {"title": "str"}) is None
    kinds = ("str", "bool", "float", "mixed")
    found = {kind: rule_where("policy", {**RULE_FIELDS, "priority": kind}) for kind in kinds}
    assert found == {"str": PRODUCTION, "bool": PRODUCTION, "float": POLICIES, "mixed": POLICIES}


def test_words_end_in_plurals_and_of_several_defaults_the_highest_priority_counts() -> None:
    table = parse_rules(
        '[{"keywords": ["annual policy", "tax", "box office"], "where": {"f": 1}},'
        ' {"where": {"f": 2}}, {"where": {"f": 3}, "priority": 5}]'
    )
    asked = ("annual policies", "taxes", "box offices", "annually policy", "boxes office")
    found = [rule_where(text, {"f": "int"}, table) for text in asked]
    assert found == [{"f": {"$eq": 1}}] * 3 + [{"f": {"$eq": 3}}] * 2


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("{}", "a JSON list of rules"),
        ("[1]", "rule 1"),
        ('[{"keywords": ["a"]}]', "rule 1, where"),
        ('[{"where": {"f": 1}}, {"where": {}}]', "rule 2, where"),
        ('[{"keywords": ["?"], "where": {"f": 1}}]', "a keyword is a word"),
        ('[{"where": {"f": {"$regex": "x"}}}]', "where.f must be"),
        ('[{"where": {"f": 1}, "priority": "high"}]', "rule 1, priority"),
        ('[{"where": {"f": 1}, "x": 1}]', "rule 1, x"),
    ],
)
def test_a_table_that_is_none_is_refused(body: str, place: str) -> None:
    with pytest.raises(ConfigurationError, match="The filter rules file") as caught:
        parse_rules(body)
    assert place in str(caught.value)


BY_POLICY = "by the word 'policy': category in abo_policies and priority >= 7"


@pytest.mark.parametrize(
    ("wall", "views", "where", "trail"),
    [
        (False, (View("the policy", FILTER_WEIGHT, POLICIES),), {"priority": {"$eq": 9}}, f"prefers, {BY_POLICY}"),
        (True, (), {"$and": [{"priority": {"$eq": 9}}, *POLICIES["$and"]]}, f"filtered {BY_POLICY}"),
    ],
    ids=["leans", "wall"],
)
def test_a_rule_is_a_view_or_a_wall_and_the_requests_own_filter_always_a_wall(
    wall: bool, views: tuple[View, ...], where: Where, trail: str
) -> None:
    query, question = SearchQuery(text="the policy", top_k=8), Question(text="and that?", filters={"priority": 9})
    for stage in (RuleFilter(lambda: SAMPLE, lambda: RULE_FIELDS, wall=wall), RequestFilter(lambda: RULE_FIELDS)):
        query = stage(query, question)
    assert (query.views, query.where, query.trail[0]) == (views, where, trail)


def test_all_the_rules_that_match_are_named() -> None:
    table = parse_rules('[{"keywords": ["x"], "where": {"f": 1}}, {"keywords": ["y"], "where": {"f": 2}}]')
    query = RuleFilter(lambda: table, lambda: {"f": "int"})(SearchQuery(text="x or y", top_k=8), Question(text="q"))
    assert query.views == (View("x or y", FILTER_WEIGHT, {"$or": [{"f": {"$eq": 1}}, {"f": {"$eq": 2}}]}),)
    assert query.trail == ("prefers, by the word 'x': f = 1, or by the word 'y': f = 2",)


def test_a_missing_index_is_an_error_unless_there_are_no_rules_and_no_filters() -> None:
    index = FakeIndex(broken=IndexMissing("none"))
    for stage in (RuleFilter(lambda: SAMPLE, index.fields), RequestFilter(index.fields)):
        with pytest.raises(IndexMissing):
            stage(QUERY, Question(text="q", filters={"year": 1}))
    for stage in (RuleFilter(RuleTable, index.fields), RequestFilter(index.fields)):
        assert stage(QUERY, Question(text="q")) is QUERY
