"""rag.stages.admit.safety: scripts and what cannot be shown; every human script passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.admit.safety import collapse, holds_script, is_blank, is_printable

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        "<script>", "< SCRIPT src=x>", "</script>", "javascript:alert(1)", "JaVaScRiPt : x", "eval(1)", "eval (1)",
        "<img src=x onerror=alert(1)>", "<svg/onload=x>", "<b onmouseover=x>", "data:text/html,x", "<base href=//x>",
        "data:text/html;base64,eA==", "\uff1cscript\uff1e", "document.cookie", "<iframe src=//x>", "vbscript:x",
        "<form", "<input>", "</style>", "How do I use the eval() function?", "setTimeout(x)", "x: expression(y)",
        "onload=x",
        # what a browser makes of character references
        "&#106;avascript:x", "&#x3c;script&#x3e;", "&lt;script&gt;", "java&#10;script:x", "java&Tab;script&colon;x",
        "&#0000106avascript:x", "java&#x0A;script:x", "eval&lpar;1&rpar;",
        # what an address says, decoded
        "%3Cscript%3Ealert(1)%3C/script%3E", "Please %253CsCript%253E it", "java%0ascript%3Ax", "&#37;3Cscript>",
        "%26lt%3Bscript>", "%3Ciframe%20src%3Dx%3E",
        # more than a name in a sentence
        "Click <iframe src=//x> please now", "Click <iframe/src=//x> please now", "Is <form><input> valid markup?",
        '"><svg><path> hello there', "<style>body{x:y}</style> hello there people", "How do I use <script> here?",
        "Is eval (name) safe to use?", "Is eval ('a b') safe?", "Is eval (atob(x) y) safe?", "Is eval(the rate) safe?",
        "Please run alert(document.cookie) for me", "How do I set document.location = x here?",
        "Please fetch //x?'+document.cookie", "document.write (x), is it safe here?", "What does document.write(x) do?",
    ],
)  # fmt: skip
def test_scripts(text: str) -> None:
    assert holds_script(collapse(text))


@pytest.mark.parametrize(
    "text",
    [
        "Is 3 < 5?", "a <- b", "What does the evaluation form ask?", "How do I write in JavaScript?", "R&D costs",
        "Which documents / cookies?", "on load = 5 kg", "mail <me@example.org>", "price: 5 > 3", "AT&T; &c.",
        "What does the regular expression (a+)b match?", "How do I write a cron expression (e.g. 0 9 * * 1)?",
        "I signed the document. Location of the copy?", "Where is it in the document. Write a summary please",
        "I signed the document.Location of the copy?", "At the top. Location settings are missing, why?",
        "I closed the window. Location tracking stopped", "How do I type self. write?",
        "Is an hourly rate < base rate allowed?", "Can hours be < form minimum?", "Are my hours < input hours?",
        "Is my rate < link limit?", "Which profit < math cost?", "Is the rate <base rate of 5?",
        "What goes in <input hours>?", "if a < b and online = 5", "Why does it show &#39; instead of an apostrophe?",
        "Can I enter AT&#38;T as a client name?", "mocha: is it a supported test runner?",
        "data: text/html attachments, allowed?", "settimeout ( in minutes ) for idle",
        "What is LiveScript: a language?", "x <y> z",
        "How is eval (the evaluation rate) computed?", "What is eval (evaluation) time?", "Is 20%3D20 so?",
        "Is the eval (i.e. the review rate, in %) shown?",
        "Can I embed the report in an <iframe>?", "How do I use the <form> element with the API?",
        "Are <select> fields and <input> fields supported as custom fields?", "What do <button>s do?",
        "Does <img/> work, or <video />?", 'Is `<iframe>` or "<embed>" right for a shared report?',
        "Can I nest (<form>/<fieldset>) tags?", "Do you close it with </form>, or not?", "ใช้ <form> ได้ไหม ครับ",
        "Does the webhook body go to window.location?", "The document.location field?",
        "document.location field: what goes in?", "Is 'document.domain' needed, and why?",
        "Is window.location.href kept when I log in?", "What is in %3Cb%3E?",
        "Can I use <b>bold</b> in descriptions?", "How do I rename <your project> to <new name>?",
    ],
)  # fmt: skip
def test_questions(text: str) -> None:
    assert not holds_script(collapse(text))


def test_an_invisible_character_cannot_split_a_pattern() -> None:
    for char in "\u200b\u200d\u180e\u2066":
        assert holds_script(collapse(f"java{char}script:x"))


def test_white_space_is_unicodes() -> None:
    assert collapse(" a\u00a0b \n\t c\ufeff ") == "a b c"
    assert collapse("a\x0bb\x0cc\x85d\u2028e\u3000f") == "a b c d e f"
    assert collapse("a\x1fb") == "a\x1fb"


def test_embeddings_that_came_along_are_left_out() -> None:
    assert collapse("Call \u202a+1 555 0100\u202c now") == "Call +1 555 0100 now"


@pytest.mark.parametrize(
    "char",
    [
        "\x00", "\x1b", "\x1c", "\x1f", "\x7f", "\x9f", "\u202d", "\u202e", "\ue000", "\U0010ffff", "\ufffe", "\ud800",
        "\U000e0001", "\U000e0041", "\U0001f3f4\U000e0067", f"{ENGLAND}\U000e0067",
        "\U0001f3f4" + 8 * "\U000e0067" + "\U000e007f", "\ufe00\ufe01", "\U000e0100\U000e0101",
    ],
)  # fmt: skip
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
        f"👩\u200d💻{ENGLAND}",
        "❤\ufe0f\u200d🔥",
        "葛\U000e0100",
        "ᠮᠣᠩᠭᠤᠯ\u180eᠠ",
        "\U0001fae9",
        "£€₹ §¶†‡",
    ],
)
def test_every_script_can(text: str) -> None:
    assert is_printable(text)


@pytest.mark.parametrize(
    "text", ["", " \n", "\u200d\u200d", "\u200e\u200f", "\u202a\u202c", "\u3164", "\u2800", "\ufe0f"]
)
def test_nothing_shows(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["?", "\x07", "\u0301", "\x1f", ENGLAND, "می\u200cروم"])
def test_something_is_there(text: str) -> None:
    assert not is_blank(text)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert isinstance(holds_script(collapse(text)), bool)
    assert isinstance(is_printable(text), bool)


_SELECTORS = [chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]  # see test_what_cannot_be_shown


@given(
    st.text(
        alphabet=st.characters(categories=["L", "M", "N", "P", "S", "Zs"], exclude_characters=_SELECTORS), max_size=50
    )
)
def test_letters_marks_numbers_and_symbols_always_pass(text: str) -> None:
    assert is_printable(collapse(text))


@pytest.mark.parametrize("piece", ["<a ", "<", "<img x ", "on", "&#", "&#32;", "eval ", "javascript ", "data: "])
def test_long_runs_are_read_once(piece: str) -> None:
    assert not holds_script(piece * 5_000)
