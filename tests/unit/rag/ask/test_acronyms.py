"""rag.ask.acronyms: both forms of an acronym beside each other, as a view of the question."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import View
from rag.ask.acronyms import ACRONYM_WEIGHT, Acronym, AcronymTable, ExpandAcronyms, parse_csv, parse_json
from rag.errors import ConfigurationError
from rag.values.question import Question, SearchQuery

SAMPLE = Path(__file__).parents[4] / "samples" / "gacounts" / "acronyms.json"
TABLE = parse_json("""{
    "GaCounts": "Georgia Counts", "OIT": "Office of Instructional Technology", "IT": "Information Technology",
    "R&D": "Research and Development", "C": "Cobalt", "C++": "C plus plus", "ITD": "IT Department",
    "PTO": {"long": "Paid Time Off", "any_case": true}, "SMART": {"long": "Staff Reporting Tool", "any_case": false}
}""")


def test_the_seeds_table_and_example() -> None:
    text, trail = parse_json(SAMPLE.read_text(encoding="utf-8")).expand("How do I report in GaCounts?")
    assert text == "How do I report in Georgia Counts (GaCounts)?"
    assert trail == ("expanded 'GaCounts' to 'Georgia Counts (GaCounts)'",)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("gacounts deadline", "Georgia Counts (GaCounts) deadline"),
        ("The georgia  counts app", "The georgia  counts (GaCounts) app"),
        ("OIT/IT's number", "Office of Instructional Technology (OIT)/Information Technology (IT)'s number"),
        ("the R&D budget for C++?", "the Research and Development (R&D) budget for C plus plus (C++)?"),
        ("pto for SMART", "Paid Time Off (PTO) for Staff Reporting Tool (SMART)"),
        ("the it department", "the it department (ITD)"),
        ("OIT or OIT?", "Office of Instructional Technology (OIT) or OIT?"),
    ],
)
def test_either_form_gets_the_other_beside_it(text: str, result: str) -> None:
    assert TABLE.expand(text)[0] == result


@pytest.mark.parametrize(
    "text", ["Is it possible? It is.", "a smart idea of oit, C# and c", "OITs, OIT_form", "GaCounts: Georgia Counts"]
)
def test_words_in_another_case_parts_of_words_and_what_is_there_already_stay(text: str) -> None:
    assert TABLE.expand(text) == (text, ())


@given(st.lists(st.sampled_from(
    ["GaCounts", "gacounts", "Georgia", "Counts", "OIT", "it", "IT", "R&D", "Research", "and", "Development", "(", ")",
     "IT Department", "pto", ".", "@", "C++", "SMART", "é", "ß", "\x00", "1"]
) | st.text()).map(" ".join))  # fmt: skip
def test_expanding_twice_is_expanding_once(text: str) -> None:
    once, trail = TABLE.expand(text)
    assert TABLE.expand(once) == (once, ())
    assert (once == text) == (trail == ())


def test_csv_says_the_same_as_json() -> None:
    rows = 'Acronym,Long Form,any case\nOIT,"Office of\r\n  Technology"\n\nSMART, Staff Tool ,No\nPTO,Paid Time,yes\n'
    body = """{"OIT": "Office of Technology", "SMART": {"long": "Staff Tool", "any_case": false},
               "PTO": {"long": "Paid Time", "any_case": true}}"""
    assert parse_csv(rows) == parse_json(body)
    assert parse_csv(rows).entries[1] == Acronym(short="SMART", long="Staff Tool", any_case=False)
    assert parse_csv("acronym,long form\n") == parse_json("{}") == AcronymTable()


HEAD = "acronym,long form"


@pytest.mark.parametrize(
    ("body", "named"),
    [("[]", "JSON object"), ("{", "not valid JSON"), ('{"AB": 1}', "'AB'.* long"), ('{"AB": " "}', "'AB'.* long"),
     ('{"?": "b"}', r"'\?'.* short"), ('{"AB": {"long": "b", "x": 1}}', "'AB'.* x"),
     ('{"AB": "x", "ab": "y"}', "'ab'.* twice"),
     ("ABO,Office", f"begin with the row: {HEAD}"), ("", "begin with"), (f"{HEAD}\nA", "line 2"),
     (f"{HEAD}\n\nA,b,c", "line 3"), (f"{HEAD}\nA,b\nA,c", "line 3 .* twice"),
     (f"{HEAD},any case\nA,b,exact", "line 2 .* any_case"), (f'{HEAD}\nA,"{"b" * 140_000}"', "not valid CSV")],
)  # fmt: skip
def test_a_table_that_is_none_is_refused_and_the_acronym_or_the_line_named(body: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        (parse_json if body[:1] in {"[", "{"} else parse_csv)(body)


def test_both_forms_are_a_view_beside_the_question_and_the_trail_says_so() -> None:
    query = SearchQuery(text="Who runs OIT?", top_k=5, where={"a": {"$eq": 1}}, trail=("before",))
    found = ExpandAcronyms(lambda: TABLE)(query, Question(text="as it was asked"))
    expanded = View("Who runs Office of Instructional Technology (OIT)?", ACRONYM_WEIGHT, optional=True)
    trail = ("before", "expanded 'OIT' to 'Office of Instructional Technology (OIT)'")
    assert found == replace(query, views=(expanded,), trail=trail)


def test_without_an_acronym_nothing_changes() -> None:
    query = SearchQuery(text="Who is about?", top_k=5)
    assert ExpandAcronyms(lambda: TABLE)(query, Question(text="Who runs OIT?")) is query
