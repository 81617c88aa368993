"""rag.stages.query.acronyms: both forms of an acronym beside each other, and nothing else touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ConfigurationError
from rag.stages.query.acronyms import Acronym, AcronymTable, parse_csv, parse_json

SAMPLE = Path(__file__).parents[5] / "samples" / "gacounts" / "acronyms.json"
TABLE = AcronymTable(
    (
        Acronym("GaCounts", "Georgia Counts"),
        Acronym("ABO", "Administrative Business Office"),
        Acronym("OIT", "Office of Instructional Technology"),
        Acronym("IT", "Information Technology"),
        Acronym("R&D", "Research and Development"),
        Acronym("SMART", "Staff Reporting Tool", exact_case=True),
    )
)


def expanded(text: str, table: AcronymTable = TABLE) -> str:
    return table.expand(text)[0]


def test_the_seeds_table_and_example() -> None:
    table = parse_json(SAMPLE.read_text(encoding="utf-8"))
    assert {entry.short: entry.long for entry in table.entries} == {
        "GaCounts": "Georgia Counts",
        "ABO": "Administrative Business Office",
        "OLOD": "Office of Leadership and Organizational Development",
        "OIT": "Office of Instructional Technology",
    }
    text, trail = table.expand("How do I report in GaCounts?")
    assert text == "How do I report in Georgia Counts (GaCounts)?"
    assert trail == ("expanded 'GaCounts' to 'Georgia Counts (GaCounts)'",)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("gacounts deadline", "Georgia Counts (GaCounts) deadline"),
        ("what does the abo do", "what does the Administrative Business Office (ABO) do"),
        ("The georgia  counts app", "The georgia  counts (GaCounts) app"),
        ("Ask OIT, or ABO.", "Ask Office of Instructional Technology (OIT), or Administrative Business Office (ABO)."),
        ("OIT's number", "Office of Instructional Technology (OIT)'s number"),
        ("the R&D budget", "the Research and Development (R&D) budget"),
        ("Is IT open?", "Is Information Technology (IT) open?"),
        ("IT?", "Information Technology (IT)?"),
        ("What is SMART?", "What is Staff Reporting Tool (SMART)?"),
    ],
)  # fmt: skip
def test_either_form_gets_the_other_beside_it(text: str, result: str) -> None:
    assert expanded(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "Is it possible? It is.",
        "WHO CAN HELP ME WITH IT?",
        "IT IS SMART",
        "a smart idea, R and D",
        "write to oit@example.edu, see https://oit.example.edu/abo and the file ABO_form.pdf",
        "the OITs of this world, aboard",
        "Georgia Counts (GaCounts) and GaCounts",
        "GaCounts, that is Georgia Counts",
        "",
    ],
)
def test_ordinary_words_addresses_and_what_is_there_already_stay(text: str) -> None:
    assert TABLE.expand(text) == (text, ())


SIGNED = parse_json('{"C++": "C plus plus", ".NET": "Dot Net Framework", "SAM": "Stock Manager", "PTO": "Paid Time"}')


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("the C++ code", "the C plus plus (C++) code"),
        ("C++?", "C plus plus (C++)?"),
        ("is .NET free", "is Dot Net Framework (.NET) free"),
        ("c plus plus", "c plus plus (C++)"),
        ("SAM and pto", "Stock Manager (SAM) and Paid Time (PTO)"),
    ],
)
def test_signs_belong_to_their_acronym(text: str, result: str) -> None:
    assert SIGNED.expand(text)[0] == result
    assert SIGNED.expand(result)[0] == result


@pytest.mark.parametrize("text", ["C", "C+", "the net", "asp.NET", "Sam said so", "PTO++", "C#", ".NET#", "net"])
def test_without_its_signs_or_with_others_it_is_something_else(text: str) -> None:
    assert SIGNED.expand(text) == (text, ())


def test_acronyms_side_by_side_are_two() -> None:
    assert expanded("OIT/ABO staff") == (
        "Office of Instructional Technology (OIT)/Administrative Business Office (ABO) staff"
    )
    assert expanded("docs/OIT/ABO") == "docs/OIT/ABO"
    assert expanded("oit/abo") == "oit/abo"


def test_an_acronym_is_expanded_at_its_first_mention_only() -> None:
    text, trail = TABLE.expand("OIT or oit?")
    assert text == "Office of Instructional Technology (OIT) or oit?"
    assert len(trail) == 1


def test_the_longest_form_wins_and_hides_what_is_inside_it() -> None:
    table = AcronymTable((Acronym("IT", "Information Technology"), Acronym("ITD", "IT Department")))
    assert expanded("the IT Department", table) == "the IT Department (ITD)"
    assert expanded("itd", table) == "IT Department (ITD)"


@given(st.lists(st.sampled_from(
    ["GaCounts", "gacounts", "Georgia", "Counts", "ABO", "it", "IT", "R&D", "Research", "and", "Development", "(", ")",
     "Administrative Business Office", "oit", ".", "@", "smart", "SMART", "é", "ß", "\x00", "1"]
)).map(" ".join))  # fmt: skip
def test_expanding_twice_is_expanding_once(text: str) -> None:
    once, trail = TABLE.expand(text)
    assert TABLE.expand(once) == (once, ())
    assert (once == text) == (trail == ())


@given(st.text())
def test_any_text_survives(text: str) -> None:
    assert len(expanded(text)) >= len(text)


def test_csv_says_the_same_as_json() -> None:
    rows = "\ufeffacronym,long form,case\nABO,Administrative Business Office\n\nSMART, Staff Reporting Tool , Exact\n"
    body = '{"ABO": "Administrative Business Office", "SMART": {"long": "Staff Reporting Tool", "exactCase": true}}'
    assert parse_csv(rows) == parse_json(body)
    assert parse_csv(rows).entries[1] == Acronym("SMART", "Staff Reporting Tool", exact_case=True)
    assert parse_csv("") == AcronymTable()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_quoted_cell_may_hold_line_breaks(newline: str) -> None:
    rows = f'ABC,"Alpha{newline}  Beta"{newline}"DEF","Delta, Echo"{newline}'
    assert parse_csv(rows).entries == (Acronym("ABC", "Alpha Beta"), Acronym("DEF", "Delta, Echo"))
    assert parse_json('{"ABC": "Alpha\\n Beta"}').entries == (Acronym("ABC", "Alpha Beta"),)


@pytest.mark.parametrize(
    "header",
    ["acronym,long form,case", "Abbreviation,Meaning", "abbr,full_name", "Abbrev,Stands for", "term,expansion",
     "TERM,DEFINITION,exact", "short,long", "Acronyms,Was es heisst", "Short Form,Long Form", "\n\nkey,value"],
)  # fmt: skip
def test_a_header_row_is_no_acronym(header: str) -> None:
    assert parse_csv(f"{header}\nABC,Alpha Beta").entries == (Acronym("ABC", "Alpha Beta"),)


@pytest.mark.parametrize(
    ("short", "long"),
    [("TERM", "Tenant Equity Review Meeting"), ("SHORT", "Student Housing Repair Team"), ("KEY", "Kent Energy"),
     ("ABBR", "Atlanta Bus and Bike Routes"), ("CODE", "Council of Deans")],
)  # fmt: skip
def test_an_acronym_that_is_spelt_like_a_title_is_kept(short: str, long: str) -> None:
    assert parse_csv(f"{short},{long}\nABC,Alpha Beta").entries[0] == Acronym(short, long)
    assert parse_csv(f"ABC,Alpha Beta\n{short},{long}").entries[1] == Acronym(short, long)


@pytest.mark.parametrize(
    "body",
    ["[]", "{", '{"A": 1}', '{"A": ""}', '{"": "b"}', '{"A": {"long": "b", "x": 1}}', '{"A": {"exactCase": true}}',
     '{"AB": "x", "ab": "y"}', '{"AB": "x", "AB": "y"}', '{"AB": "ab"}'],
)  # fmt: skip
def test_a_table_that_is_none_is_refused(body: str) -> None:
    with pytest.raises(ConfigurationError, match=r"[Aa]cronym"):
        parse_json(body)


@pytest.mark.parametrize("body", ["A", "A,b,c", "A,b\nA,c", ",b", "term", f'A,"{"b" * 140_000}"'])
def test_rows_that_are_none_are_refused(body: str) -> None:
    with pytest.raises(ConfigurationError, match=r"[Aa]cronym"):
        parse_csv(body)
