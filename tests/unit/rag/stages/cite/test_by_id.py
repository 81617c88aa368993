"""rag.stages.cite.by_id: ids of the context are citations, others are taken out, nothing else changes."""

from __future__ import annotations

import re

import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.cite.by_id import cite_ids

KNOWN = {1, 42, 87}
HITS = tuple(make_hit(number=number) for number in sorted(KNOWN))


@pytest.mark.parametrize(
    ("answer", "text", "removed"),
    [
        ("All known [id_42].", "All known [id_42].", 0),
        ("It is so [id_5].", "It is so.", 1),
        ("It is so [id_5] and so [id_42].", "It is so and so [id_42].", 1),
        ("Both [id_42, id_6].", "Both [id_42].", 1),
        ("Odd ([id_5]) marks [ID_6], here.", "Odd marks, here.", 2),
        ("Sources: [id_5], [id_42], [id_6].", "Sources: [id_42].", 2),
        ("- one [id_5]\n- two [id_42]", "- one\n- two [id_42]", 1),
        ("\u3010id_5\u3011 Full \uff3bid_1\uff3d width", " Full \uff3bid_1\uff3d width", 1),
        # The sentence stays as the model wrote it.
        ("As [id_5] says, click Start [id_42].", "As says, click Start [id_42].", 1),
        # Only a bracket of nothing but ids is a mark, and none in code.
        (
            "An [aside], [id], (id_5), id_5 and [see id_5] stay.",
            "An [aside], [id], (id_5), id_5 and [see id_5] stay.",
            0,
        ),
        ("Use `for x in [id_1, id_5]:` here.", "Use `for x in [id_1, id_5]:` here.", 0),
        ("```\nfor x in [id_5]:\n```\nSo [id_5].", "```\nfor x in [id_5]:\n```\nSo.", 1),
        ("Fields: id_1, id_2", "Fields: id_1, id_2", 0),
        ("So [id_5]:\n~~~python\nfor x in [id_5]:", "So:\n~~~python\nfor x in [id_5]:", 1),
    ],
)
def test_unknown_ids_go_as_marks(answer: str, text: str, removed: int) -> None:
    cited = cite_ids(answer, HITS)
    assert (cited.text, cited.removed) == (text, removed)


def test_citations_are_the_chunks_in_the_order_of_the_answer() -> None:
    cited = cite_ids("First [id_87], then [id_42, id_87] and \u3010id_1\u3011; never [id_5]. `[id_1]`", HITS)
    assert [(c.chunk_id, c.raw, c.position) for c in cited.citations] == [
        ("id_87", "[id_87]", 6),
        ("id_42", "[id_42, id_87]", 20),
        ("id_1", "\u3010id_1\u3011", 39),
    ]
    assert (cited.valid, cited.removed) == (4, 1)


PIECES = [
    "[id_1]",
    "[id_42]",
    "[id_5]",
    "[id_42,id_99]",
    "(id_5)",
    "\u3010id_7\u3011",
    "```",
    "\n",
    "`",
    " ",
    "see",
    ".",
    ",",
    "(",
]


@given(st.lists(st.sampled_from([*PIECES, *"[](){}<>\\*_|-:;59"]), max_size=30).map("".join))
def test_what_stays_is_known_and_stays(answer: str) -> None:
    cited = cite_ids(answer, HITS)
    again = cite_ids(cited.text, HITS)
    assert (again.text, again.citations, again.removed) == (cited.text, cited.citations, 0)
    assert {citation.hit.chunk.number for citation in cited.citations} <= KNOWN
    assert all(cited.text.startswith(citation.raw, citation.position) for citation in cited.citations)


@given(st.text())
def test_a_text_without_ids_is_returned_as_it_is(answer: str) -> None:
    if not re.search("id_", answer, re.IGNORECASE):
        assert cite_ids(answer, HITS).text == answer


@pytest.mark.parametrize("run", ["[", "(", "`", "[id_1] ", "[id_5], ", "[id_1,", " ", "\n", "```\n", "`a``"])
def test_long_runs_are_read_once(run: str) -> None:
    assert cite_ids(run * 20_000 + " [id_87]", HITS).valid >= 0
