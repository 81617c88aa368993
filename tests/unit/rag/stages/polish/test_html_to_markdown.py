"""rag.stages.polish.html_to_markdown: HTML becomes Markdown, code stays, and twice is once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.stages.polish.html import polish_html
from rag.stages.polish.html_to_markdown import html_to_markdown
from rag.values.answer import Context

_TAGS = (
    "b /b i /i p /p ul ol_start=4 li /li /ul /ol a_href='http://x.y/(z)' /a br hr code /code pre /pre table tr td /td "
    "/tr /table script /script blockquote /blockquote h2 /h2 foo /foo your_name sup /sup q /q div /div !-- "
    "img_alt='a`b'"
)
_OTHERS = "&lt;|&amp;|&gt;|&nbsp;|&amp;lt;|&#65;|&#60;|`|``|\n```\n|\n~~~\n|\n|\n\n|  |text"
_GLUE = "a*b|**|<|<<|>|\\|-->|x|0|- |1. |b>|/b>|lt;|amp;|#|\x00|    | "
FRAGMENTS = [f"<{tag.replace('_', ' ')}>" for tag in _TAGS.split(" ")] + f"{_OTHERS}|{_GLUE}|<!--".split("|")
_INDENTED = re.compile(r"^(?: {4}| {0,3}\t).*", re.MULTILINE)
BLOCKS = [
    "\n\n", "\n", "    ", "      ", "\t", "- a", "1. ", "> ", "# ", "```\n", "* * *", "| a | b |\n| - | - |\n", "| c",
    "<br>", "<b>", "</b>", "<p>", "</p>", "<ul>", "</ul>", "<li>", "</li>", "<pre>", "</pre>", "<code>", "</code>",
    "<table><tr><td>", "</table>", "<td>", "&amp;", "x", "`", "<foo>", "</foo>", "<script>", "</script>", "|",
]  # fmt: skip
MESS = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("<p>Hello <b>bold</b> and <em>this</em>.</p><p>Bye</p>", "Hello **bold** and *this*.\n\nBye"),
        ('See <a href="https://x.org/?b=1&amp;c=2" rel="x">a guide</a>.', "See [a guide](https://x.org/?b=1&c=2)."),
        ("<ul>\n  <li>One</li>\n  <li>Two<ol><li>a<li>b</ol></li>\n</ul>", "- One\n- Two\n  1. a\n  2. b"),
        ("<ol start=3><li>x</li><li>y</li></ol>", "3. x\n4. y"),
        ("<h2>Before you\n start</h2>Text", "## Before you start\n\nText"),
        ("one<br>two<br/><br />three", "one  \ntwo\n\nthree"),
        ("<table><tr><th>Form</th><th>Fee</th></tr><tr><td>a|b</td><td>5<br>USD</td></tr></table>",
         "| Form | Fee |\n| --- | --- |\n| a\\|b | 5 USD |"),
        ("<blockquote>one<p>two</p></blockquote>after", "> one\n>\n> two\n\nafter"),
        ('<pre><code class="language-sh">a &lt; b\n\n\n    c</code></pre>', "```sh\na < b\n\n\n    c\n```"),
        ("Use <code>a &amp;&amp; b</code>", "Use `a && b`"),
        ("10<sup>6</sup> and H<sub>2</sub>O, x<sup>th</sup>", "10⁶ and H₂O, x^th"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<answer>Yes.</answer>", "Yes."),
        ("<li>a</li>", "- a"),
        ("left <b>open", "left **open**"),
        ("</div>left</p>", "left"),
        ("<b></b>nothing", "nothing"),
    ],
)  # fmt: skip
def test_formatting_becomes_markdown(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("Tom &amp; Jerry &#39;s &quot;show&quot;&nbsp;&copy;", 'Tom & Jerry \'s "show" ©'),
        ("5 &lt; 6 &amp;lt; 7", "5 < 6 < 7"),
        ("AT&T &unknown; &amp;ast;", "AT&T &unknown; &ast;"),
        ("&lt;b&gt; makes bold", "&lt;b&gt; makes bold"),
        ("&#0; &#xD800; &#99999999;", "&#0; &#xD800; &#99999999;"),
    ],
)
def test_references_are_decoded_but_for_what_would_be_markup(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("a<script>alert(`1`)</script>b<style>p{}</style>", "ab"),
        ("a<iframe src=x>inner</iframe><svg><b>x</b></svg>b", "ab"),
        ("<img src=x onerror=alert(1) alt='a map'>", "a map"),
        ('<a href="javascript:alert(1)">click</a> <a href="JaVa&#9;Script:x">here</a>', "click here"),
        ("<x-y onclick=run()>text</x-y>", "text"),
        ("a<!-- hidden -->b<!DOCTYPE html>", "ab"),
        ("<script>never closed", "never closed"),
        ("<<i></i>script>x</script>", "x"),
    ],
)
def test_what_could_run_is_gone(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    "text",
    [
        "plain *Markdown*, 5 < 6 > 4, `x`\n\n- a\n  - b\n\n    deep",
        "List<String>, <your name>, <https://example.org>, <a@b.org>, a <b and c",
        "```html\n<p>&amp;</p>\n\n\n<b>\n```",
        "~~~\n<b>\n~~~",
        "> ```\n> <b>\n> ```",
        "`<b>` and ``a ` <i>``",
        "```\n<b> never closed",
    ],
)
def test_markdown_and_code_stay(text: str) -> None:
    assert html_to_markdown(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Run this:\n\n    <b>x</b> &amp; y\n\nDone.",
        "Run this:\n\n\t<b>x</b> &amp; y",
        "Run this:\n  \n    <p>\n\n\n      &lt;i&gt; ` \n    </p>\nDone ` so.",
        "- item\n\n      <b>code</b>",
        "1. item\n\n       <b>code</b>\n\n2. next",
        "- a\n  - b\n\n        <b>code</b>\n\nend\n\n    <b>code</b>",
        "- item\n\nText.\n\n    <br>",
        "- item\n# Heading\n\n    <br>",
        "* * *\n\n    <br>",
        "```\n<p>\n```\n\n    <br>",
        "The tag `<div>` opens.\n\n    <div>&amp;",
        "<your name> and 3 < 4\n\n    <b>x</b>",
    ],
)
def test_indented_code_stays(text: str) -> None:
    assert html_to_markdown(text) == text


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("<p>Run:</p>\n\n    <b>x</b> &amp; y\n\n<p>Done.</p>", "Run:\n\n    <b>x</b> &amp; y\n\nDone."),
        ("Run:<br>\n\n    <b>x</b>\n    y\n<i>z</i>", "Run:  \n\n    <b>x</b>\n    y\n*z*"),
    ],
)
def test_indented_code_stays_beside_html(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("a paragraph\n    <b>goes on</b>", "a paragraph\n    **goes on**"),
        ("- item\n\n    <b>goes on</b>", "- item\n\n    **goes on**"),
        ("10. item\n\n      <b>goes on</b>", "10. item\n\n      **goes on**"),
        ("- a\n  - b\n\n      <b>goes on</b>", "- a\n  - b\n\n      **goes on**"),
        ("- a\n\n  text\n\n    <b>goes on</b>", "- a\n\n  text\n\n    **goes on**"),
        ("- - a\n\n      <b>goes on</b>", "- - a\n\n      **goes on**"),
        ("x[^1]\n\n[^1]: note\n\n    <b>goes on</b>", "x[^1]\n\n[^1]: note\n\n    **goes on**"),
        ("- a\n\n  ```\n  <b>\n  ```\n\n    <b>goes on</b>", "- a\n\n  ```\n  <b>\n  ```\n\n    **goes on**"),
        ("<ul>\n\n    <li>one</li>\n\n    <li>two</li>\n\n</ul>", "- one\n- two"),
        ("<div>\n\n    <p><b>x</b></p>\n\n</div>\nafter", "**x**\n\nafter"),
        ("<answer>Yes:\n\n    <b>x</b>\n</answer>", "Yes:\n\n    **x**"),
        ("a <script>\n\n    alert(1)</script> b", "a  b"),
        ("    <b>x</b> at the top", "    **x** at the top"),
        ("\n\n    <script>x</script>at the top", "    at the top"),
    ],
)
def test_what_is_indented_but_no_code_is_converted(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


_TABLE = "| Who | What |\n| --- | --- |\n"


@pytest.mark.parametrize(
    ("row", "result"),
    [
        ("| Riders | front<br>back |\n| Under 16 | an adult |", "| Riders | front back |\n| Under 16 | an adult |"),
        ("| Riders | <b>front<br/>back</b> |", "| Riders | **front back** |"),
        ("| Riders | <p>front</p><p>back</p> |", "| Riders | front back  |"),
        ("| Riders | <ul><li>front</li><li>back</li></ul> |\n\nEnd", "| Riders | - front - back  |\n\nEnd"),
        ("| Riders | <pre><code>a &amp; b</code></pre> |", "| Riders | `a & b` |"),
        ("| Riders | `<br>` or a\\|b<br>c |", "| Riders | `<br>` or a\\|b c |"),
        ("| Riders | <code>a<p>b</code><br>c |", "| Riders | `a<p>b` c |"),
        ("| Riders<br>all | x |<br>after", "| Riders all | x |  \nafter"),
        ("| Riders | <your name> <center stage> |", "| Riders | <your name> <center stage> |"),
    ],
)
def test_a_row_of_a_pipe_table_stays_one_line(row: str, result: str) -> None:
    assert html_to_markdown(f"{_TABLE}{row}") == f"{_TABLE}{result}"
    assert html_to_markdown(f"Intro<br>one\n\n{_TABLE}{row}") == f"Intro  \none\n\n{_TABLE}{result}"


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("Who | What<br>else\n:-- | --:\nRiders | a<br>b", "Who | What else\n:-- | --:\nRiders | a b"),
        ("> | A | B |\n> |---|---|\n> | a<br>b | c |", "> | A | B |\n> |---|---|\n> | a b | c |"),
        ("|x| is a norm<br>of x", "|x| is a norm  \nof x"),
        ("a | b<br>c\n\n---", "a | b  \nc\n\n---"),
        (f"{_TABLE}| a | b |\n\na | b<br>c", f"{_TABLE}| a | b |\n\na | b  \nc"),
        ("<pre>\n| A |\n| - |\n| a<br>b |\n</pre>", "```\n| A |\n| - |\n| a\nb |\n```"),
    ],
)
def test_what_is_a_pipe_tables_row(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("cell", "result"),
    [
        ("<code>a|b</code>", "`a\\|b`"),
        ("`a|b` or c|d", "`a\\|b` or c\\|d"),
        ("<b><kbd>|</kbd></b>", "**`\\|`**"),
        ("<pre>a|b</pre>", "``` a\\|b ```"),
        ("<code>a\\|b</code>", "`a\\|b`"),
    ],
)
def test_a_pipe_in_code_does_not_divide_a_tables_cell(cell: str, result: str) -> None:
    assert html_to_markdown(f"<table><tr><th>A</th></tr><tr><td>{cell}</td></tr></table>") == (
        f"| A |\n| --- |\n| {result} |"
    )
    assert html_to_markdown("<code>a|b</code>") == "`a|b`"


def test_code_stays_beside_html() -> None:
    text = '<p>Run:</p>\n\n```sh\necho "<b>" &amp; x\n\n\n  y\n```\n<ul><li>see `<li>`</li></ul>'
    assert html_to_markdown(text) == 'Run:\n\n```sh\necho "<b>" &amp; x\n\n\n  y\n```\n\n- see `<li>`'


def test_code_is_marked_so_that_a_lonely_tick_cannot_open_it() -> None:
    assert html_to_markdown("a ` b <code>&lt;b&gt;</code>") == "a ` b ``<b>``"


@settings(max_examples=300)
@given(MESS)
def test_converting_twice_is_converting_once(text: str) -> None:
    once = html_to_markdown(text)
    assert html_to_markdown(once) == once
    # What follows these marks may be code, which stays as it is; so does what is indented.
    assert "<script" not in _INDENTED.sub("", re.split("`|~~~", once)[0])


@settings(max_examples=300)
@given(st.lists(st.sampled_from(BLOCKS), max_size=12).map("".join))
def test_converting_blocks_twice_is_converting_once(text: str) -> None:
    once = html_to_markdown(text)
    assert html_to_markdown(once) == once


@given(st.text())
def test_any_text_survives(text: str) -> None:
    once = html_to_markdown(text)
    assert html_to_markdown(once) == once


@given(st.text(alphabet="ab <>&;#*\n-_b/p", max_size=60), st.text(alphabet="<>b&;am p/\n", min_size=1, max_size=30))
def test_fenced_code_is_untouched_whatever_stands_around_it(around: str, code: str) -> None:
    block = f"\n```\n{code}\n```\n"
    assert block.strip("\n") in html_to_markdown(f"{around}\n{block}\n{around}")


@pytest.mark.parametrize(
    "piece",
    [
        "<b>",
        "<",
        "&amp;",
        "<ul><li>",
        "<!--",
        "a &gt; ",
        '<a href="',
        "<td>x",
        "\n \n<b>",
        "\n\n    <b>",
        "- ",
        "- a\n\n",
        "| a<br>",
        "|a|\n|-|\n",
        "<b></i>",
    ],
)
def test_long_and_hostile_texts_are_finished(piece: str) -> None:
    assert len(html_to_markdown(piece * 5_000)) <= 200_000


def test_the_stage_says_what_it_did() -> None:
    empty = Context("", ())
    assert polish_html("<b>x</b>", empty).text == "**x**"
    assert polish_html("<b>x</b>", empty).trail == ("converted HTML in the answer to Markdown",)
    assert polish_html("x", empty).trail == ()
