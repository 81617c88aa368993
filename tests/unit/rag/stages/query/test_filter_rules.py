"""rag.stages.query.filter_rules: which rule of the table a question asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import ConfigurationError
from rag.stages.query.filter_rules import RuleTable, parse_rules, unite

SAMPLE = parse_rules((Path(__file__).parents[5] / "samples" / "gacounts" / "filters.json").read_text("utf-8"))
FIELDS = {"category": "str", "priority": "int", "sourceEnvironment": "str"}


def where(question: str, fields: dict[str, str] = FIELDS, table: RuleTable = SAMPLE) -> object:
    matched = table.match(question, fields)
    return unite([rule for rule, _ in matched]) if matched else None


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
        (
            "Is there GaCounts training?",
            {"category": {"$in": ["documentation", "ga_counts_app", "ets_training", "leadership_dev"]}},
        ),
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


def test_rules_of_one_field_are_one_list_and_others_are_or_ed_whole() -> None:
    table = parse_rules(
        '[{"keywords": ["a"], "where": {"f": 1}}, {"keywords": ["b"], "where": {"f": [2, 1]}, "priority": 5},'
        ' {"keywords": ["c"], "where": {"f": {"$gte": 3}}, "priority": 5}, {"keywords": ["d"], "where": {"g": 4}}]'
    )
    assert [where(text, {"f": "int", "g": "int"}, table) for text in ("a b", "c a", "d a", "a", "b")] == [
        {"f": {"$in": [2, 1]}},
        {"$or": [{"f": {"$gte": 3}}, {"f": {"$eq": 1}}]},
        {"$or": [{"f": {"$eq": 1}}, {"g": {"$eq": 4}}]},
        {"f": {"$eq": 1}},
        {"f": {"$in": [2, 1]}},
    ]


def test_of_several_defaults_the_highest_priority_counts() -> None:
    table = parse_rules('[{"where": {"f": 1}}, {"where": {"f": 2}, "priority": 5}]')
    assert where("anything", {"f": "int"}, table) == {"f": {"$eq": 2}}


def test_a_rule_speaks() -> None:
    ((rule, keyword),) = SAMPLE.match("the policy", FIELDS)
    assert str(rule) == "category in abo_policies and priority >= 7"
    assert keyword == "policy"
    assert SAMPLE.match("hello", FIELDS) == ((SAMPLE.rules[-1], None),)


def test_words_end_in_plurals() -> None:
    table = parse_rules('[{"keywords": ["annual policy", "tax", "box office"], "where": {"f": true}}]')
    texts = ("annual policies", "taxes", "box offices", "annually policy", "boxes office")
    assert [where(text, {"f": "bool"}, table) is not None for text in texts] == [True, True, True, False, False]


@pytest.mark.parametrize(
    "body",
    ["{}", "[", "[1]", '[{"keywords": ["a"]}]', '[{"where": {}}]', '[{"keywords": "a", "where": {"f": 1}}]',
     '[{"keywords": ["?"], "where": {"f": 1}}]', '[{"where": {"f": []}}]', '[{"where": {"f": [1, "a"]}}]',
     '[{"where": {"f": null}}]', '[{"where": {"f": {"$gte": "7"}}}]', '[{"where": {"f": {"$regex": "x"}}}]',
     '[{"where": {"f": {"$gt": 1, "$lt": 3}}}]', '[{"where": {"$and": [1]}}]', '[{"where": {"f": {"$in": 1}}}]',
     '[{"where": {"f": {"$eq": [1]}}}]', '[{"where": {"f": 1}, "priority": "high"}]', '[{"where": {"f": 1}, "x": 1}]'],
)  # fmt: skip
def test_a_table_that_is_none_is_refused(body: str) -> None:
    with pytest.raises(ConfigurationError, match=r"[Ff]ilter rule"):
        parse_rules(body)
