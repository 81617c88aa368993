"""rag.stages.check.statements: an answer cut into what it states, each statement with its own marks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.check.statements import Part, cut
from rag.stages.cite.by_id import cite_ids
from rag.stages.cite.by_url import UrlCiter

HITS = tuple(make_hit(number=number) for number in (1, 2, 3))


def parts_of(answer: str) -> tuple[str, tuple[Part, ...]]:
    cited = cite_ids(answer, HITS)
    return cited.text, cut(cited.text, cited.marks)


def stated(answer: str) -> list[tuple[str, list[str]]]:
    """Each statement with its marks."""
    text, parts = parts_of(answer)
    return [(part.text, [text[mark.start : mark.end] for mark in part.marks]) for part in parts]


@pytest.mark.parametrize(
    "answer",
    [
        "The import permit takes five working days [id_1]. It costs ninety dollars and is paid in cash [id_2].",
        "The import permit takes five working days. [id_1] It costs ninety dollars and is paid in cash. [id_2]",
        "[id_1] The import permit takes five working days.\n\nIt costs ninety dollars and is paid in cash. [id_2]",
        "The import permit takes five working days\n[id_1].\n\nIt costs ninety dollars and is paid in cash [id_2].",
    ],
)
def test_a_mark_belongs_to_the_statement_that_it_stands_in_or_behind(answer: str) -> None:
    assert stated(answer) == [
        ("The import permit takes five working days.", ["[id_1]"]),
        ("It costs ninety dollars and is paid in cash.", ["[id_2]"]),
    ]


def test_a_statement_without_marks_shares_those_of_the_next_one_of_its_paragraph() -> None:
    prose = "It takes five working days in most cases. It costs ninety dollars and is paid in cash. Pay at the port"
    text, parts = parts_of(f"{prose} or at home [id_3].\n\nBring your passport.")
    assert [[text[mark.start : mark.end] for mark in part.shared] for part in parts] == [["[id_3]"], ["[id_3]"], [], []]


def test_a_paragraph_of_marks_is_meant_by_all_before_it_without_any() -> None:
    answer = (
        "It costs ninety dollars and is paid in cash.\n\n- Bring the invoice [id_1]\n- Bring a photo\n\n[id_2] [id_3]"
    )
    text, parts = parts_of(f"{answer}\n\nThe office is open from nine to five.")
    assert [[text[mark.start : mark.end] for mark in part.marks] for part in parts] == [[], ["[id_1]"], [], []]
    shared = [[text[mark.start : mark.end] for mark in part.shared] for part in parts]
    assert shared == [["[id_2]", "[id_3]"], [], ["[id_2]", "[id_3]"], []]


def test_what_introduces_a_list_is_part_of_its_items() -> None:
    answer = (
        "To renew a permit [id_1]:\n\n1. Open the renewal form [id_2].\n2. Pay ninety dollars.\n\nWould you like more?"
    )
    assert stated(answer) == [
        ("To renew a permit: Open the renewal form.", ["[id_1]", "[id_2]"]),
        ("To renew a permit: Pay ninety dollars.", ["[id_1]"]),
    ]


def test_rows_have_their_header_and_headings_state_nothing() -> None:
    answer = "## Fees\n\n| Permit | Fee |\n|---|---|\n| import | 90 [id_1] |\n| export | 40 |"
    found = stated(answer)
    assert [marks for _, marks in found] == [["[id_1]"], []]
    assert "Permit | Fee" in found[0][0]
    assert "import | 90" in found[0][0]


@pytest.mark.parametrize("alone", ["# The import permit takes five days", "Does the permit take five days?"])
def test_headings_and_questions_are_held_to_account_where_nothing_else_is_said(alone: str) -> None:
    assert stated(f"{alone} [id_1]") == [(alone, ["[id_1]"])]
    assert [text for text, _ in stated(f"{alone} [id_1]\n\nBring the invoice and a photo.")] == [
        "Bring the invoice and a photo."
    ]


@pytest.mark.parametrize("blank", ["\n\n", "\r\n\r\n", "\n \t\n"])
def test_any_blank_line_ends_a_paragraph(blank: str) -> None:
    text, parts = parts_of(f"It costs ninety dollars and is paid in cash.{blank}Pay at the port or at home [id_3].")
    assert [[text[mark.start : mark.end] for mark in part.marks or part.shared] for part in parts] == [[], ["[id_3]"]]


def test_a_link_is_read_as_what_it_says() -> None:
    hit = make_hit(number=7, url="https://example.org/fees")
    cited = UrlCiter(0.5)("See [the fee table](https://example.org/fees) of the office.", (hit,))
    (part,) = cut(cited.text, cited.marks)
    assert (part.text, part.marks[0].hits) == ("See the fee table of the office.", (hit,))


@pytest.mark.parametrize(
    "sources", ["Sources:\n- [id_1]\n- [id_2]", "**Sources:** [id_1], [id_2]", "Sources: [id_1] [id_2]"]
)
def test_sources_named_in_the_end_are_meant_by_all_before_and_state_nothing(sources: str) -> None:
    text, parts = parts_of(f"It costs ninety dollars and is paid in cash.\n\n- Bring the invoice\n\n{sources}")
    shared = [[text[mark.start : mark.end] for mark in part.shared] for part in parts]
    assert shared == [["[id_1]", "[id_2]"], ["[id_1]", "[id_2]"]]


def test_a_list_of_links_names_sources() -> None:
    (hit,) = (make_hit(number=1, url="https://example.org/fees"),)
    text = "It costs ninety dollars and is paid in cash.\n\nSources:\n- [the fee table](https://example.org/fees)"
    cited = UrlCiter(0.5)(text, (hit,))
    (part,) = cut(cited.text, cited.marks)
    assert (part.text, part.shared[0].hits) == ("It costs ninety dollars and is paid in cash.", (hit,))


def test_a_list_or_table_shares_the_marks_of_its_last_line() -> None:
    answer = (
        "Bring these:\n\n- the signed invoice\n- the packing list [id_2]\n\n| What | Days |\n|---|---|\n| Air | 2 |\n"
    )
    text, parts = parts_of(answer + "| Sea | 9 [id_3] |\n")
    assert [[text[mark.start : mark.end] for mark in part.shared] for part in parts] == [["[id_2]"], [], ["[id_3]"], []]
    assert [part.claim for part in parts[2:]] == ["Air 2", "Sea 9"]


def test_a_colon_introduces_under_emphasis_too_and_the_number_of_an_item_is_none() -> None:
    assert stated("1. **Kicking:**\n   - The pitcher rolls the ball to the plate.\n2. Out:\n   - A caught ball.") == [
        ("**Kicking:** The pitcher rolls the ball to the plate.", []),
        ("Out: A caught ball.", []),
    ]


def test_a_line_in_bold_is_a_heading() -> None:
    assert [text for text, _ in stated("**Weekdays**\n\nThe office opens at half past eight.")] == [
        "The office opens at half past eight."
    ]


@given(
    st.lists(
        st.sampled_from(["Pay. ", "[id_1]", " [id_2]", "\n\n", "\n", "- ", "Open it", "| a |", "# ", "```\n", "?"]),
        max_size=25,
    )
)
def test_statements_follow_each_other_and_lose_no_mark(pieces: list[str]) -> None:
    text, parts = parts_of("".join(pieces))
    assert all(0 <= part.start < part.end <= len(text) for part in parts)
    assert all(before.end <= after.start for before, after in pairwise(parts))
    assert all(part.text for part in parts)
