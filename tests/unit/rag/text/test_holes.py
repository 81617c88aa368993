"""rag.text.holes: what a removed citation takes with it, and what it leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.holes import CODE_HOLE, HOLE, close_holes


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("It is so @.", "It is so."),
        ("It is so, @.", "It is so."),
        ("It is @, so.", "It is, so."),
        ("It is so. @", "It is so."),
        ("It is so. @ And more.", "It is so. And more."),
        ("It is so. @. And more.", "It is so. And more."),
        ("Start@Stop", "Start Stop"),
        ("Hard break @  \nnext", "Hard break  \nnext"),
        # Separators.
        ("So @, [id_3], @.", "So [id_3]."),
        ("So [id_3] and @.", "So [id_3]."),
        ("So @; [id_3] and [id_4].", "So [id_3] and [id_4]."),
        ("So @, @ and @.", "So."),
        # What wraps it.
        ("So (@).", "So."),
        ("So [@] \\[@\\] {@} <@> \u3010@\u3011.", "So."),
        ("So **@** *@* `@` ^@^ <sup>@</sup> \"@\".", "So."),
        ("So (the timer, @).", "So (the timer)."),
        ("**a** @ **b**, 'yes' @ 'no'", "**a** **b**, 'yes' 'no'"),
        # Lead-ins.
        ("According to @, you press it.", "You press it."),
        ("according to @, it is so", "It is so"),
        ("Press it, according to @.", "Press it."),
        ("Press it, as stated in @, and go.", "Press it, and go."),
        ("Press it (as described in snippet @).", "Press it."),
        ("Press it (see also @ and @).", "Press it."),
        ("Press it. See @.", "Press it."),
        ("Press it. For more details, see @.", "Press it."),
        ("Press it, see @ and [id_3].", "Press it, see [id_3]."),
        ("In snippet @, you press it. Based on @: go.", "You press it. Go."),
        ("Press it.\n\n**Sources:** @, @", "Press it."),
        ("Press it.\n\nSources:\n- @\n- @\n", "Press it."),
        ("Press it.\n\nSources:\n- @\n- [id_3]", "Press it.\n\nSources:\n- [id_3]"),
        # Words that only look like lead-ins.
        ("You can log in @. Only admins can see @.", "You can log in. Only admins can see."),
        # Where it was a word of its sentence.
        ("@ states that you press it.", "You press it."),
        ("So. @ explains how.", "So. The documentation explains how."),
        ("This is described in @.", "This is described in the documentation."),
        # Lines.
        ("- @", ""),
        ("- a\n- @\n- b", "- a\n- b"),
        ("1. a\n2. @\n3. b", "1. a\n3. b"),
        ("a\n\n@\n\nb", "a\n\nb"),
        ("@\n\nb", "b"),
        ("> @\n> b", "> b"),
        ("| a | @ |\n|---|---|\n| b [id_3] | @ |", "| a | |\n|---|---|\n| b [id_3] | |"),
        ("(see @). **@**", ""),
        # Code.
        ("y  =  1  # %\nz", "y  =  1\nz"),
        ("y  =  1  # as in % or so", "y  =  1  # as in or so"),
    ],
)  # fmt: skip
def test_what_goes_with_a_hole(text: str, closed: str) -> None:
    assert close_holes(text.replace("@", HOLE).replace("%", CODE_HOLE)) == closed


@given(st.text())
def test_without_a_hole_nothing_changes(text: str) -> None:
    text = text.replace(HOLE, "").replace(CODE_HOLE, "")
    assert close_holes(text) == text


@pytest.mark.parametrize(
    "run", [" ", "\t", "\n", "`", "Sources:\n", "see ", "- ", "*", f"{HOLE} ", f"[id_1], {HOLE}, "]
)
def test_long_runs_are_read_once(run: str) -> None:
    closed = close_holes(run * 20_000 + HOLE)
    assert HOLE not in closed
