"""rag.stages.cite.id_marks: every form in which models cite ids, and what only looks like one."""

from __future__ import annotations

import pytest

from rag.stages.cite.id_marks import Mark, find_marks


def numbers(text: str) -> list[int]:
    return [number for mark in find_marks(text) for number in mark.numbers]


@pytest.mark.parametrize(
    "mark",
    [
        "[id_9]", "[ID_9]", "[id 9]", "[ID 9]", "[id9]", "[id-9]", "[id:9]", "[id: 9]", "[id_ 9]", "[id _9]", "[ids_9]",
        "[id_0009]", "[ id_9 ]", "[id_9,]", "[#id_9]", "[^id_9]", "[`id_9`]", "[**id_9**]", "[id\\_9]", "\\[id_9\\]",
        "(id_9)", "(ID_9)", "(id 9)", "(id-9)", "(id:9)", "{id_9}", "<id_9>",
        "\u3010id_9\u3011", "\uff3bid_9\uff3d", "\uff08id_9\uff09", "\u3014id_9\u3015",
        "[source: id_9]", "[Source id_9]", "[see id_9]", "[chunk id_9]", "(see id_9)", "(source: id_9)",
        "[id_9: Timer]", "[id_9 Time Tracking]", "[id_9, p. 3]", "(id_9: Timer)", "(id_9, section 3)", "[Timer, id_9]",
        "\u3010id_9\u2020L1-L3\u3011", "[id_9](https://a.example/x)", "[id_9](#id_9)", "id_9", "`id_9`", "**id_9**",
    ],
)  # fmt: skip
def test_one_id(mark: str) -> None:
    assert numbers(f"Click Start {mark}.") == [9]


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("[id_3, id_9]", [3, 9]),
        ("[id_3, 9]", [3, 9]),
        ("[id_3; 9 and 12]", [3, 9, 12]),
        ("[id_3, and id_9]", [3, 9]),
        ("[id_3 or id_9]", [3, 9]),
        ("[id_3 & id_9]", [3, 9]),
        ("[id_3/id_9]", [3, 9]),
        ("[id_3|id_9]", [3, 9]),
        ("[id_3 + id_9]", [3, 9]),
        ("[id_3\u3001id_9]", [3, 9]),
        ("[id_3 id_9]", [3, 9]),
        ("[id_3,\nid_9]", [3, 9]),
        ("[id_3, id_9, ...]", [3, 9]),
        ("[IDs: 3, 9]", [3, 9]),
        ("(id_3, id_9)", [3, 9]),
        ("[id_3: Timer, id_9: Reports]", [3, 9]),
        ("id_3 and id_9", [3, 9]),
        ("[id_3][id_9]", [3, 9]),
        ("[[id_3] [id_9]]", [3, 9]),
        ("[id_3-id_5]", [3, 4, 5]),
        ("[id_3\u2013id_5]", [3, 4, 5]),
        ("[id_3\u2011id_5]", [3, 4, 5]),
        ("[id_3 to id_5]", [3, 4, 5]),
        ("[id_3 through id_5]", [3, 4, 5]),
        ("[id_3-5]", [3, 4, 5]),
        ("id_3-5", [3, 4, 5]),
        ("id_3 to id_5", [3, 4, 5]),
        ("[id_3-id_5, id_9]", [3, 4, 5, 9]),
        ("[id_5-id_3]", [5, 3]),
        ("[id_3-id_9000]", [3, 9000]),
        ("[id_\u0663]", [3]),
        ("[id_12345678901]", [-1]),
        ("id_" + "9" * 5000, [-1]),
    ],
)
def test_several_ids(mark: str, expected: list[int]) -> None:
    assert numbers(f"Click Start {mark}.") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Numbers beside an id that name no chunk.
        ("[id_3, p. 4]", [3]),
        ("[id_3: 2024]", [3]),
        ("(id_3, 4 hours)", [3]),
        ("id_3 to 5 people", [3]),
        ("id_3 and 5 more", [3]),
        # Words.
        ("[3]", []),
        ("[id]", []),
        ("[identity 3]", []),
        ("[android_3]", []),
        ("the employee's id 3", []),
        ("the project (ID 1042), the task (id: 5)", []),
        ("chunk_id_3, id_3.md, id_3@a.example", []),
        ("/users/{id_3} a=<id_3>", []),
        # Addresses, and the targets of links.
        ("https://a.example/id_3?id=id_4 [the guide](https://a.example/?id_3) [x](id_3)", []),
        ("https://a.example/start_(id_3)", []),
        # Code: only a bracket of ids that stands by itself.
        ("`rows[id_3]` and `x = id_3` and `f(id_3)`", []),
        ("```\nrows[id_3] = id_4  # [id_5]\n```\n[id_6]", [5, 6]),
        ("~~~\nid_3\n~~~", []),
        ("`x  # [id_5]`", [5]),
        # What stands in a bracket beside an id is kept where it is more than a title.
        ("(the timer, as id_3 says, runs on)", [3]),
        ("[the guide to id_3](https://a.example)", [3]),
    ],
)
def test_what_is_none(text: str, expected: list[int]) -> None:
    assert numbers(text) == expected


def test_where_a_mark_stands() -> None:
    text = "Start (see id_3-id_5), `a  # [id_9]`"
    assert list(find_marks(text)) == [
        Mark(6, 21, (3, 4, 5), frozenset({4}), False),
        Mark(29, 35, (9,), frozenset(), True),
    ]
    assert text[6:21] == "(see id_3-id_5)"
    assert [text[mark.start : mark.end] for mark in find_marks("(the timer, as id_3 says)")] != []
    assert [mark.start for mark in find_marks("(the timer, as id_3 says)")] == [15]
