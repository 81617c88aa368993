"""rag.text.safety: scripts and what cannot be shown; every human script passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.safety import collapse, holds_script, is_printable


@pytest.mark.parametrize(
    "text",
    [
        "<script>", "< SCRIPT src=x>", "</script>", "javascript:alert(1)", "JaVaScRiPt : x", "eval(1)", "eval (1)",
        "<img src=x onerror=alert(1)>", "<svg/onload=x>", "<b onmouseover=x>", "data:text/html,x", "&#106;avascript",
        "\uff1cscript\uff1e", "document.cookie", "<iframe src=//x>", "vbscript:x",
    ],
)  # fmt: skip
def test_scripts(text: str) -> None:
    assert holds_script(collapse(text))


@pytest.mark.parametrize(
    "text",
    [
        "Is 3 < 5?", "a <- b", "What does the evaluation form ask?", "How do I write in JavaScript?", "R&D costs",
        "Which documents / cookies?", "on load = 5 kg", "mail <me@example.org>", "price: 5 > 3", "AT&T; &c.",
    ],
)  # fmt: skip
def test_questions(text: str) -> None:
    assert not holds_script(collapse(text))


def test_an_invisible_character_cannot_split_a_pattern() -> None:
    assert holds_script(collapse("java\u200bscript:x"))
    assert collapse(" a\u00a0b \n\t c\ufeff ") == "a b c"


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x9f", "\u202e", "\ue000", "\U0010ffff", "\ufffe", "\ud800"])
def test_what_cannot_be_shown(char: str) -> None:
    assert not is_printable(f"a{char}b")


@pytest.mark.parametrize(
    "text",
    [
        "ฉันจะเริ่ม",
        "مرحبا\u200f",
        "می\u200cروم",
        "שלום",
        "नमस्ते",
        "漢字かな한글",
        "e\u0301",
        "👩\u200d💻🏴\U000e0067\U000e007f",
        "\U0001fae9",
        "£€₹ §¶†‡",
    ],
)
def test_every_script_can(text: str) -> None:
    assert is_printable(text)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(holds_script(collapse(text)), bool)
    assert isinstance(is_printable(text), bool)


@given(st.text(alphabet=st.characters(categories=["L", "M", "N", "P", "S", "Zs"]), max_size=50))
def test_letters_marks_numbers_and_symbols_always_pass(text: str) -> None:
    assert is_printable(collapse(text))


@pytest.mark.parametrize("piece", ["<a ", "<", "on", "&#", "eval ", "javascript "])
def test_long_runs_are_read_once(piece: str) -> None:
    assert not holds_script(piece * 5_000)
