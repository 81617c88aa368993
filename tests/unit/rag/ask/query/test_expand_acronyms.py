"""rag.ask.query.acronyms: acronyms beside their long forms, as a view."""

from __future__ import annotations

from knowledge.model.values import View
from rag.ask.query.acronyms import ACRONYM_WEIGHT, AcronymTable, ExpandAcronyms, parse_json
from rag.values.question import Question, SearchQuery

STAGE = ExpandAcronyms(lambda: parse_json('{"ABO": "Administrative Business Office"}'))


def expand(text: str, stage: ExpandAcronyms = STAGE) -> SearchQuery:
    query = SearchQuery(text=text, top_k=5, where={"a": {"$eq": 1}}, trail=("before",))
    return stage(query, Question(text="as it was asked"))


def test_both_forms_are_a_view_beside_the_question_and_the_trail_says_so() -> None:
    found = expand("Who runs ABO?")
    assert found.text == "Who runs ABO?"
    assert found.views == (View("Who runs Administrative Business Office (ABO)?", ACRONYM_WEIGHT, optional=True),)
    assert found.trail == ("before", "expanded 'ABO' to 'Administrative Business Office (ABO)'")
    assert (found.top_k, found.where) == (5, {"a": {"$eq": 1}})


def test_without_an_acronym_nothing_changes() -> None:
    query = SearchQuery(text="Who is about?", top_k=5)
    assert STAGE(query, Question(text="x")) is query
    assert expand("Who runs ABO?", ExpandAcronyms(AcronymTable)).views == ()
