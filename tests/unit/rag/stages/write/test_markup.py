"""rag.stages.write.markup: tags of the question do not come back as tags; the answer's own stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.write.markup import defuse


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
            "‹plaintext› `‹plaintext›`\n```\n‹plaintext›\n```",
        ),
        # code: what the question held as a whole
        ("<a href=//x>y</a> here?", "Use `<A  HREF='//x'>y</A>`.", "Use `‹A  HREF='//x'›y‹/A›`."),
        ("<u>x</u> here?", "```html\n<u>x</u>\n```", "```html\n‹u›x‹/u›\n```"),
        ("<portal src=x> here?", "Put `<portal src=x>`.", "Put `‹portal src=x›`."),
        ("<?php echo 1 ?><!-- x --> here?", "`<?php echo 1 ?>` `<!-- x -->`", "`‹?php echo 1 ?›` `‹!-- x --›`"),
        ("How do I use <b>?", "`<b>x</b>`, or `<b>` and `</b>`", "`‹b›x‹/b›`, or `‹b›` and `‹/b›`"),
        ("How do I embed <video src=x?", "Put `<video src=x>`", "Put `‹video src=x›`"),
        ("How do I embed <video src=x> here?", "Put\n```\n<video src=x", "Put\n```\n‹video src=x"),
        # code: the documents'
        (
            "<a href=//x>y</a> here?",
            'It is `<a href="/help">z</a>`, not `<a href=//x>y</a>`.',
            'It is `<a href="/help">z</a>`, not `‹a href=//x›y‹/a›`.',
        ),
        ("<a href=//x>y</a>?", '`<a href="/b"><a href=//x>y</a></a>`', '`<a href="/b">‹a href=//x›y‹/a›</a>`'),
        ("Where do I put <script>?", "`<script src='/t.js'></script>`", "`<script src='/t.js'></script>`"),
        ("<?php echo 1 ?> here?", "`<?xml version='1.0'?>`", "`<?xml version='1.0'?>`"),
        # decoded
        ("%3Cscript%3Ea%3C/script%3E", "<script>a</script> `<script>`", "‹script›a‹/script› `‹script›`"),
        ("%253Cu%253E", "<u>", "‹u›"),
        ("%26lt;u%26gt;", "<u>", "‹u›"),
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


@given(st.text(alphabet="<>/!?ab =\"'&; ", max_size=60), st.sampled_from(["`", "``", "\n```\n", "\n~~~\n"]))
def test_no_echo_in_code_holds_a_tag(text: str, mark: str) -> None:
    shown = defuse(f"You asked: {mark}{text}{mark}", text)
    assert not any(begin in shown for begin in ("<a", "<b", "</", "<!", "<?"))


@given(st.text(alphabet="<>/ab `~\n", max_size=60), st.text(alphabet="<>/ab `~\n", max_size=60))
def test_only_brackets_change(question: str, answer: str) -> None:
    assert defuse(answer, question).replace("‹", "<").replace("›", ">") == answer
