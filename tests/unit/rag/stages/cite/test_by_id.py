"""rag.stages.cite.by_id: only ids of the context stay, and the answer still reads well."""

from __future__ import annotations

import re

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.cite.by_id import cite_ids, drop_unknown_ids
from rag.stages.cite.id_marks import find_marks
from rag.values.answer import Context, Passage, Polished

KNOWN = {1, 42, 87}
HITS = tuple(make_hit(number=number) for number in sorted(KNOWN))
CONTEXT = Context("", tuple(Passage(hit=hit, citation=f"[{hit.chunk.id}]", text="") for hit in HITS))


@pytest.mark.parametrize(
    ("answer", "text", "dropped"),
    [
        ("All known [id_42].", "All known [id_42].", 0),
        ("It is so [id_5].", "It is so.", 1),
        ("It is so [id_5] and so [id_42].", "It is so and so [id_42].", 1),
        ("Both [id_42, id_6].", "Both [id_42].", 1),
        ("Two [id_42; 87 and 9].", "Two [id_42] [id_87].", 1),
        ("Odd ([id_5]) marks [ID 6], here.", "Odd marks, here.", 2),
        ("- one [id_5]\n- two [id_42]", "- one\n- two [id_42]", 1),
        ("\u3010id_5\u3011 Full width \u3010id_1\u3011", "Full width [id_1]", 1),
        ("An [aside] and [id] stay.", "An [aside] and [id] stay.", 0),
        ("Start (id_42), stop (id_42, id_5).", "Start [id_42], stop [id_42].", 1),
        ("Start id_42, stop id_5.", "Start [id_42], stop.", 1),
        ("A range [id_40-id_44].", "A range [id_42].", 2),
        ("A range [id_42-id_87].", "A range [id_42] [id_87].", 0),
        ("The same [id_42, id_42] [id_42].", "The same [id_42] [id_42].", 0),
        (
            "Export a .csv file [id_5]. Hidden files such as .env stay [id_6].",
            "Export a .csv file. Hidden files such as .env stay.",
            2,
        ),
        ("Sources: [id_5], [id_42], [id_6].", "Sources: [id_42].", 2),
        ("According to [id_5], you press Start. See [id_5] and [id_42].", "You press Start. See [id_42].", 2),
        ("(see [id_5]). **[id_6]**", "", 2),
        ("As id_5 explains, click Start [id_42].", "Click Start [id_42].", 1),
        ("Only [id_5] says so. Both id_6 and id_42 say so.", "Only the documentation says so. [id_42] says so.", 2),
        ("See [id_5] for details. Press Start (source: [id_6]; also [id_42]).", "Press Start (source: [id_42]).", 2),
        ("Press Start \u2014 [id_5].", "Press Start.", 1),
        ("- [id_5]", "", 1),
        ("[id_5]", "", 1),
        ("So [[id_5]].", "So.", 1),
        ("```\ny  =  1  # [id_5]\n```", "```\ny  =  1\n```", 1),
        ("```\ny  =  rows[id_5]\n```", "```\ny  =  rows[id_5]\n```", 0),
        ("See https://a.example/id_5 [id_42].", "See https://a.example/id_5 [id_42].", 0),
    ],
)
def test_unknown_ids(answer: str, text: str, dropped: int) -> None:
    noun = "citation" if dropped == 1 else "citations"
    trail = (f"removed {dropped} {noun} of ids that were not in the context",) if dropped else ()
    assert drop_unknown_ids(answer, CONTEXT) == Polished(text, trail)


IDS = ["id_", "id_1", "id_42", "id_5", "id_99", "ID_7", "[id_1]", "[id_42]", "[id_5]", "[id_42,id_99]", "(id_5)"]
WORDS = [
    "see",
    "See",
    "and",
    "or",
    "to",
    "as",
    "stated",
    "in",
    "according",
    "Sources:",
    "the",
    "snippet",
    "says",
    "that",
    "both",
    "Either",
    "neither",
    "nor",
    "only",
    "also",
    "say",
    "for",
    "details",
]
OTHER = [
    "Start",
    "**",
    "~~",
    "```",
    "\n",
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n> ",
    "  ",
    "](https://a.example)",
    "https://a.example/x",
]
MARKED = st.lists(st.sampled_from([*IDS, *WORDS, *OTHER, *"[](){}<>【】\\`*_|†-–:;?!.,,59    "]), max_size=30)


@given(MARKED.map("".join))
def test_what_stays_is_known_and_stays(answer: str) -> None:
    polished = drop_unknown_ids(answer, CONTEXT)
    assert {number for mark in find_marks(polished.text) for number in mark.numbers} <= KNOWN
    assert drop_unknown_ids(polished.text, CONTEXT) == Polished(polished.text)
    cited = {citation.hit.chunk.number for citation in cite_ids(polished.text, HITS)}
    assert cited == {number for mark in find_marks(polished.text) for number in mark.numbers}
    if not any(True for _ in find_marks(answer)):
        assert polished == Polished(answer)


@given(st.text())
def test_a_text_without_ids_is_returned_as_it_is(answer: str) -> None:
    if not re.search("id", answer, re.IGNORECASE):
        assert drop_unknown_ids(answer, CONTEXT) == Polished(answer)


@given(
    st.lists(
        st.sampled_from(
            ["Press Start.", "Press **Start** now.", "- a  b", "1. one", "`x  =  1`", "a .env file", "", "  "]
        )
    ),
    st.sampled_from(["[id_5]", "(id_5)", "\u3010id_5\u3011", "id_5", "[id_5, id_6]", "[[id_5]]", "**[id_5]**"]),
)
def test_the_other_lines_do_not_change(lines: list[str], mark: str) -> None:
    assert drop_unknown_ids("\n".join([f"Go {mark}!", *lines]), CONTEXT).text == "\n".join(["Go!", *lines])


def test_citations_are_the_chunks_in_the_order_of_the_answer() -> None:
    found = cite_ids("First [id_87], then [id_42, id_87] and \u3010id_1\u3011; never [id_5].", HITS)
    assert [(c.chunk_id, c.raw, c.position) for c in found] == [
        ("id_87", "[id_87]", 6),
        ("id_42", "[id_42, id_87]", 20),
        ("id_1", "\u3010id_1\u3011", 39),
    ]


@pytest.mark.parametrize(
    "run", ["[", "(", "`", "[id_1] ", "[id_5], ", "id_5 ", "[id_1-", "[see ", " ", "\n", "](", "\\["]
)
def test_long_runs_are_read_once(run: str) -> None:
    assert "id_5" not in drop_unknown_ids(run * 5_000 + " [id_5]", CONTEXT).text
