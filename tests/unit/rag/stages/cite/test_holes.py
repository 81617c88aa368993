"""rag.stages.cite.holes: what a removed citation takes with it, and what it leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.cite.holes import CODE_HOLE, HOLE, close_holes


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
        ("As @ explains, click Start.", "Click Start."),
        ("- As @ also notes, click it. As @, go.", "- Click it. Go."),
        ("Press it, as @ says, and go. Press it (as @ shows).", "Press it, and go. Press it."),
        ("See @ for details. Press it [id_3].", "Press it [id_3]."),
        ("Press it (see @ for more).", "Press it."),
        ("Press it, see @ if it fails.", "Press it."),
        ("Go. Refer to snippet @ for the full list, then press it.", "Go. Then press it."),
        ("Press it (source: @; also [id_3]).", "Press it (source: [id_3])."),
        ("Press it (see @, also [id_3]). Source: @; see also [id_3].", "Press it (see [id_3]). Source: [id_3]."),
        ("Press it (source: @; page 4).", "Press it (page 4)."),
        ("Unlike @, [id_3] says so.", "[id_3] says so."),
        # What the reader is told to do.
        ("Please check @ before you start.", "Please check before you start."),
        ("Check @ for errors. Then press it.", "Check for errors. Then press it."),
        ("Please consult @.", ""),
        ("Press it. Visit @ for more information.", "Press it. Visit the documentation for more information."),
        # What counts two of them.
        ("Both @ and [id_3] say so.", "[id_3] says so."),
        ("Both @ and @ say so.", "The documentation says so."),
        ("[id_3] and @ both specify it. As [id_3] and @ explain, go.", "[id_3] specifies it. As [id_3] explains, go."),
        ("Either @ or [id_3].", "[id_3]."),
        ("It is in both [id_3] and @, or in either @, @ or [id_3].", "It is in [id_3], or in [id_3]."),
        ("It is in both @, [id_3] and [id_4].", "It is in both [id_3] and [id_4]."),
        ("Neither @ nor [id_3] says so.", "Neither the documentation nor [id_3] says so."),
        ("Neither [id_3] nor @ says so.", "Neither [id_3] nor the documentation says so."),
        ("Neither @ nor @ says so.", "No part of the documentation says so."),
        # What leads to a hole at the end.
        ("Press it — @.", "Press it."),
        ("Press it; @. Or it: @, then – @; that -- @.", "Press it. Or it, then; that."),
        ("- Timer: it runs - @\n- Clock — @\n", "- Timer: it runs\n- Clock\n"),
        ("It is - @ - so.", "It is - so."),
        ("Steps: @\n- press it", "Steps:\n- press it"),
        # Words that only look like lead-ins.
        ("You can log in @. Only admins can see @.", "You can log in. Only admins can see."),
        ("See the timer @ for details. As admin @, click it.", "See the timer for details. As admin, click it."),
        ("Both timers stop @ and both start [id_3].", "Both timers stop and both start [id_3]."),
        ("You see both @. Either way @ it is so.", "You see both. Either way it is so."),
        ("Use only this @. The page opens @ and shows it.", "Use only this. The page opens and shows it."),
        ("Go. @ Note the time. @ Shows are on.", "Go. Note the time. Shows are on."),
        # Where it was a word of its sentence.
        ("@ states that you press it.", "You press it."),
        ("So. @ explains how.", "So. The documentation explains how."),
        ("This is described in @.", "This is described in the documentation."),
        ("Only @ says so, as is what @ says.", "Only the documentation says so, as is what the documentation says."),
        ("However, @ states that it is.", "However, the documentation states that it is."),
        ("It stops, which @ confirms, just as @ says.",
         "It stops, which the documentation confirms, just as the documentation says."),
        ("As @ explains in detail, go.", "As the documentation explains in detail, go."),
        ("See @ for details and [id_3] for more.", "See the documentation for details and [id_3] for more."),
        ("This comes from @.", "This comes from the documentation."),
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
    "run",
    [
        " ",
        "\t",
        "\n",
        "`",
        "Sources:\n",
        "see ",
        "- ",
        "*",
        f"{HOLE} ",
        f"[id_1], {HOLE}, ",
        "both ",
        "as ",
        "; ",
        " -",
        f"see {HOLE} for ",
        f"neither {HOLE} nor ",
        f"as {HOLE} says",
    ],
)
def test_long_runs_are_read_once(run: str) -> None:
    closed = close_holes(run * 20_000 + HOLE)
    assert HOLE not in closed
    assert close_holes(f"x {HOLE} y{run * 20_000}z").startswith("x y")
