"""rag.stages.write.excerpts: what a text without sentences is quoted by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.write.excerpts import split_excerpts


@pytest.mark.parametrize(
    ("markdown", "excerpts"),
    [
        ("| Zone | Fee |\n|---|---|\n| Zone A | 40 |\n| `B|C` | |", ["Zone: Zone A; Fee: 40", "Zone: B|C"]),
        ("| Zone A | 40 |\n| Zone B | 60 |", ["Zone A; 40", "Zone B; 60"]),
        ("| | Fee |\n|--|--|\n| Zone A | 40 |", ["Zone A; Fee: 40"]),
        ("<table><tr><th>Zone</th><th>Fee</th></tr><tr><td>A</td><td>40</td></tr></table>", ["Zone: A; Fee: 40"]),
        (
            "# Llamas\n\n- Rope and halter\n- Three blankets;\n- Salt lick",
            ["Rope and halter; Three blankets; Salt lick"],
        ),
        ("You pack:\n- a rope.\n- salt", ["You pack: a rope. salt"]),
        ("# Flux\n\n```\nflux restart --force\n```", ["flux restart --force"]),
        (
            "To restart, run:\n\n```\nflux stop\n  # wait\nflux start\n```",
            ["To restart, run:\nflux stop\n  # wait\nflux start"],
        ),
        ("```\nmake\n```", ["make"]),
        ("so you first open the damper", ["so you first open the damper"]),
        ("[a@b.example](mailto:a@b.example)", ["a@b.example"]),
        ("ค่าธรรมเนียมคิดเป็นรายวัน", ["ค่าธรรมเนียมคิดเป็นรายวัน"]),
        ("One\n\nWrite to us\n\n- TTS", ["Write to us TTS"]),
        ("The fees are:\n\n| A | 40 |", ["A; 40"]),
        ("Check the following:", []),
        ("Word", []),
        ("- {% x %}\n- Ask in {% x %} first", []),
        ("# Heading\n\n---\n\n$ $ $", []),
        ("", []),
    ],
)
def test_excerpts(markdown: str, excerpts: list[str]) -> None:
    assert list(split_excerpts(markdown, max_chars=200)) == excerpts


def test_long_items_stand_alone_with_what_introduces_them() -> None:
    one, two = "carry " * 9 + "it", "leave " * 9 + "it"
    assert split_excerpts(f"You must:\n- {one}\n- {two}", max_chars=100) == (f"You must: {one}", f"You must: {two}")


def test_what_is_too_long_is_cut_between_clauses_and_says_so() -> None:
    clauses = [f"subject to the provisions of part {n}," for n in range(6)]
    text = f"The licence is granted, {' '.join(clauses)} for one year."
    first, *between, last = split_excerpts(text, max_chars=100)
    assert first == "The licence is granted, subject to the provisions of part 0, …"
    assert between == [
        "… subject to the provisions of part 1, subject to the provisions of part 2, …",
        "… subject to the provisions of part 3, subject to the provisions of part 4, …",
    ]
    assert last == "… subject to the provisions of part 5, for one year."


def test_where_there_are_no_clauses_it_is_cut_between_words_else_anywhere() -> None:
    assert split_excerpts("alpha beta gamma delta epsilon", max_chars=20) == (
        "alpha beta …",
        "… gamma delta …",
        "… epsilon",
    )
    assert split_excerpts("x" * 30 + " y", max_chars=20) == ("x" * 16 + " …", "… " + "x" * 14 + " y")


def test_long_code_is_cut_between_lines() -> None:
    code = "\n".join(f"    line {n}" for n in range(6))
    assert split_excerpts(f"```\nrun {{\n{code}\n}}\n```", max_chars=44) == (
        "run {\n    line 0\n    line 1\n    line 2\n…",
        "…\n    line 3\n    line 4\n    line 5\n}",
    )


@given(
    st.text("ab .,;:|-`*#>\n\ufffc(){%<td>", max_size=200) | st.text(max_size=200),
    st.integers(20, 120),
)
def test_any_text_gives_short_excerpts_with_words(text: str, max_chars: int) -> None:
    for excerpt in split_excerpts(text, max_chars=max_chars):
        assert 0 < len(excerpt) <= max_chars
        assert excerpt.strip()
        assert "\ufffc" not in excerpt or "`" in text or "~" in text
