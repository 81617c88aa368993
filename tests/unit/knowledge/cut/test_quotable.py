"""knowledge.cut.quotable: what of a chunk may be quoted, and what introduces it."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge.cut.chunking import split_text
from knowledge.cut.quotable import MAX_CHARS, QuotableUnit, quotable_units
from knowledge.cut.units import UnitKind, unit_table

SAMPLES = Path(__file__).parents[4] / "samples"
_BODY = re.compile(r"---\n.*?\n---\n", re.DOTALL)

THAI = "ราคา" * 30
"""120 letters without a blank."""
SENTENCES = [
    ["第一章很短但是说得够多了。", "第二章也是如此，而且有逗号！", "第三章呢，不多不少也就这些？"],
    ["यह पहला वाक्य है जो लंबा है।", " यह दूसरा वाक्य है जो लंबा है।"],
    ["هل هذه هي الجملة الأولى هنا؟", " نعم هذه هي الجملة الأولى هنا۔"],
    [THAI, f" {THAI}", f" {THAI[:40]} {THAI}"],  # a short phrase goes with the next
    [f"{THAI[:60]} {THAI[:40]} English words"],
]


def cut(text: str, *, markdown: bool = True) -> list[tuple[str, str, str]]:
    """Kind, unit and lead of every unit."""
    units = quotable_units(text, markdown=markdown)
    return [(u.kind.name, text[u.start : u.end], text[u.lead_start : u.lead_end]) for u in units]


REVOKED = "Each key belongs\nto one region (see the list. It is short). It may be\nrevoked:"
CREATE = "- **Create** one in the console.\n\n  It is shown once."
HEAD = "| Plan | Seats |\n|------|-------|"
CODE = "```sh\nwinget install it\n```"
TRIAL, CHARGED = "A trial lasts two weeks\n> and cannot be renewed.", "Nobody is charged for a trial that ends."
HOURS = "The core hours of the whole team are:"


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (
            f"# Setup\n\nThe service needs a key. Defaults to `30`. {REVOKED}\n\n{CREATE}\n"
            "  - An owner may show it again.\n- Ask somebody.",
            [
                ("HEADING", "# Setup", ""),
                ("SENTENCE", "The service needs a key. Defaults to `30`.", ""),
                ("SENTENCE", REVOKED, ""),
                ("ITEM", CREATE, REVOKED),
                ("ITEM", "- An owner may show it again.", CREATE),
                ("ITEM", "- Ask somebody.", REVOKED),
            ],
        ),
        (f"Run it with\n\n{CODE}", [("SENTENCE", "Run it with", ""), ("CODE", CODE, "Run it with")]),
        (f"{HEAD}\n| Free | 5 |\n| Pro | 50 |", [("ROW", "| Free | 5 |", HEAD), ("ROW", "| Pro | 50 |", HEAD)]),
        (f"> [!NOTE]\n> {TRIAL} {CHARGED}", [("SENTENCE", TRIAL, ""), ("SENTENCE", CHARGED, "")]),
        (
            "To do it:\n\n1. Open it.\n\n![It](c.png)\n\nWait for the page above.\n\n2. Choose a plan.",
            [
                ("SENTENCE", "To do it:", ""),
                ("ITEM", "1. Open it.", "To do it:"),
                ("SENTENCE", "Wait for the page above.", ""),
                ("ITEM", "2. Choose a plan.", "To do it:"),
            ],
        ),
        ("Of another.\n\n2. Choose a plan.", [("SENTENCE", "Of another.", ""), ("ITEM", "2. Choose a plan.", "")]),
        (f"{HOURS}\n\n10:00 in Lisbon", [("SENTENCE", HOURS, ""), ("SENTENCE", "10:00 in Lisbon", HOURS)]),
    ],
    ids=["items", "code", "rows", "a quotation", "a list that goes on", "no list before", "a colon"],
)
def test_every_unit_stands_alone_with_its_lead(text: str, units: list[tuple[str, str, str]]) -> None:
    assert cut(text) == units


def test_plain_text_is_cut_at_sentences_alone() -> None:
    sentences = ["# 1 is the first number of all here.", "- 2 is the second, and it is the last. Done."]
    assert cut("\n\n".join(sentences), markdown=False) == [("SENTENCE", sentence, "") for sentence in sentences]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- Old headings. Do not remove. -->",
        '<a id="old-name"></a>\n<div class="wide">\n\n</div>',
        "<style>\np { color: red }\n</style>",
        "![A picture of \\[a\\] crate](crate.png)",
        "[guide]: https://example.com/guide",
        '{% include "note.md" %}',
        "{: .wide #top }",
        "- ![A crate](crate.png)",
        "```\n}\n```",
    ],
)
def test_what_holds_no_words_to_read_gives_no_unit(text: str) -> None:
    assert cut(text) == []


def test_the_lines_of_html_with_words_are_quoted_and_those_of_a_container_are_no_part_of_what_it_says() -> None:
    html = "<summary>Which ports are open?</summary>\nOnly one port is. <!-- TODO check -->"
    containers = ':::note{icon="x"}\nThe trial lasts two weeks.\n:::\n\n/// tip\n\nAsk for a longer one.'
    assert [unit for _, unit, _ in cut(f"<details>\n{html}\n</details>")] == [html]
    assert [unit for _, unit, _ in cut(containers)] == ["The trial lasts two weeks.", "Ask for a longer one."]


def test_an_abbreviation_code_or_link_is_not_cut() -> None:
    text = "See e.g. The Guide of `a. B` and [One. Two](x.md) for the whole list. The others are kept elsewhere."
    assert [unit for _, unit, _ in cut(text)] == [text[:69], text[70:]]


def test_a_long_item_is_cut_at_sentences_and_led_by_its_first() -> None:
    sentence = "The permit must be shown at the gate by whoever drives the lorry that day."
    units = cut("1. " + " ".join([sentence] * 10))
    assert [unit for _, unit, _ in units] == ["1. " + sentence] + [sentence] * 9
    assert {lead for _, _, lead in units[1:]} == {"1. " + sentence}


def test_long_code_is_cut_between_lines_and_keeps_its_opening_fence() -> None:
    block = "\n".join(f"    entry_{n} = 'some value that is long'" for n in range(12))
    text = f"Set them all:\n\n```python\n{block}\n\n{block}\n```"
    units = cut(text)
    assert [kind for kind, _, _ in units] == ["SENTENCE", "CODE", "CODE"]
    assert units[1][2] == "Set them all:"
    assert units[2] == ("CODE", f"{block.strip()}\n```", "Set them all:\n\n```python")
    assert all(len(unit) <= MAX_CHARS for _, unit, _ in units)


def test_of_the_samples_every_word_is_in_a_unit_or_a_lead() -> None:
    read = [path for path in SAMPLES.rglob("*.md") if path.is_file()]
    pieces = [
        piece.text for path in read for piece in split_text(_BODY.sub("", path.read_text(encoding="utf-8"), count=1))
    ]
    lost = [word for text in pieces for word in _uncovered(text, text)]
    assert len(pieces) > 300
    assert lost == []


PIECES = [
    *("- item", "  - nested item. More", "1. first", "3) third", "> quoted. Text", "> - in a quote", "# Head", "Text."),
    *("", "```", "~~~js", "    indented", "| a | b |", "|---|---|", "| c |", "===", "***", "- - twice", "- # head"),
    *("- ```sh", "\tTab", "Yes. No. One. Two", "\r", "    - far", "12. twelve", "> ```", "-", "- | a | b |"),
    *("  |---|---|", "Open: "),
]
ODD = [
    *("<div>", "word</div>", "x\r", "\r\n", "…。文。", "- [ ] todo", "[!NOTE]", "> [!NOTE]", "\u2028", "\x0c"),
    "3) third\n",
]
LINES = st.lists(st.sampled_from(PIECES + ODD) | st.text(max_size=30), max_size=25)


@given(lines=LINES, markdown=st.booleans())
@example(lines=["\r0", "```"], markdown=True)
def test_units_are_in_order_trimmed_and_apart(lines: list[str], markdown: bool) -> None:
    text = "\n".join(lines)
    end = 0
    for unit in quotable_units(text, markdown=markdown):
        assert end <= unit.start < unit.end <= len(text)
        assert text[unit.start : unit.end] == text[unit.start : unit.end].strip()
        assert 0 <= unit.lead_start <= unit.lead_end <= unit.start
        assert text[unit.lead_start : unit.lead_end] == text[unit.lead_start : unit.lead_end].strip()
        end = unit.end


@given(lines=st.lists(st.sampled_from(PIECES), max_size=25))
@example(lines=["| a | b |", "|---|---|", "|---|---|"])
def test_every_word_that_a_reader_sees_is_in_a_unit_or_a_lead(lines: list[str]) -> None:
    text = "\n".join(lines)
    visible = re.sub(r"(?m)^[ >]*(?:(?:[-*+]|\d+[.)])\s*)*", lambda m: " " * len(m[0]), text)  # markers of empty items
    assert set(_uncovered(text, visible)) <= {"js", "sh"}  # of code without a line


def _uncovered(text: str, visible: str) -> list[str]:
    """The words of ``visible`` (``text`` with blanks for what is left out) that no unit and no lead covers."""
    covered: set[int] = set()
    for unit in quotable_units(text):
        covered |= {*range(unit.start, unit.end), *range(unit.lead_start, unit.lead_end)}
    return [m[0] for m in re.finditer(r"\w+", visible) if not covered.issuperset(range(*m.span()))]


@pytest.mark.parametrize("sentences", SENTENCES)
def test_sentences_end_as_their_script_ends_them(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [text[unit.start : unit.end] for unit in quotable_units(text)] == [one.strip() for one in sentences]


# The table of units


def test_a_unit_has_the_tokens_whose_first_character_is_in_it() -> None:
    # "Fees\nOne. Two three."  with the title's five characters in front of the text
    spans = np.array([(0, 4), (5, 8), (10, 13), (14, 19)], dtype=np.int32)
    units = (QuotableUnit(0, 4, UnitKind.SENTENCE), QuotableUnit(5, 15, UnitKind.ITEM, 0, 4))
    table = unit_table(units, spans, 5).tolist()
    assert table == [[0, 4, 0, 0, 0, 1, 2, 1, 1], [5, 15, 0, 4, 1, 2, 4, 1, 2]]
    assert unit_table((), np.zeros((0, 2), dtype=np.int32), 0).shape == (0, 9)
