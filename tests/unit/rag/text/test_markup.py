"""rag.text.markup: tags of the question do not come back as tags; the answer's own, and code, stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.markup import defuse


@pytest.mark.parametrize(
    ("question", "answer", "shown"),
    [
        (
            "<a href=//x.example>click</a>",
            "You asked: <a href=//x.example>click</a>",
            "You asked: ‹a href=//x.example›click‹/a›",
        ),
        ("What is <B>?", "It is <b class='x'>bold</b >.", "It is ‹b class='x'›bold‹/b ›."),
        ("<IMG SRC=x", "<IMG SRC=x", "‹IMG SRC=x"),
        ("<<SCRIPT>a//<</SCRIPT>", "<<SCRIPT>a//<</SCRIPT>", "<‹SCRIPT›a//<‹/SCRIPT›"),
        ("<!-- x --><?php ?></+>", "<!-- x --><!DOCTYPE y><?php ?></+>", "‹!-- x --›‹!DOCTYPE y›‹?php ?›‹/+›"),
        ('<a title=">" href=x>', '<a title=">" href=x>', '‹a title="›" href=x>'),
        ("&lt;div&#62; is what?", "<div> is a box.", "‹div› is a box."),
        (
            "<plaintext>",
            "<plaintext> `<plaintext>`\n```\n<plaintext>\n```",
            "‹plaintext› `<plaintext>`\n```\n<plaintext>\n```",
        ),
        ("`<b>` or <i>?", "`<b>` it is, not `<u>`.", "`‹b›` it is, not `<u>`."),
        ("~~~\n<b>", "~~~\n<b>", "~~~\n‹b›"),
        # the answer's own
        ("Is <b> allowed?", "Yes.<br>See <https://x.example> and 3 < 5.", "Yes.<br>See <https://x.example> and 3 < 5."),
        ("Is 3 < 5?", "Yes, <b>3 < 5</b>", "Yes, <b>3 < 5</b>"),
        ("No tags", "<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_defuse(question: str, answer: str, shown: str) -> None:
    assert defuse(answer, question) == shown


def test_every_input_counts() -> None:
    assert defuse("<a><b><c>", "<a>", "", "<C/>") == "‹a›<b>‹c›"


@given(st.text(alphabet="<>/!?ab =\"'&;`~\n", max_size=60))
def test_no_echo_begins_a_tag(text: str) -> None:
    shown = defuse(f"You asked: {text}", text)
    assert not any(mark in shown for mark in ("<a", "<b", "</", "<!", "<?"))
    assert shown.replace("‹", "<").replace("›", ">") == f"You asked: {text}"


@given(st.text(alphabet="<>/ab `~\n", max_size=60), st.text(alphabet="<>/ab `~\n", max_size=60))
def test_only_brackets_change(question: str, answer: str) -> None:
    assert defuse(answer, question).replace("‹", "<").replace("›", ">") == answer
