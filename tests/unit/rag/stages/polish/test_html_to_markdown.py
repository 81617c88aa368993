"""rag.stages.polish.html_to_markdown: HTML becomes Markdown, code and Markdown stay, no tag is left, twice is once."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.stages.cite.marks import CODE
from rag.stages.polish.html_to_markdown import ELEMENTS, html_to_markdown, polish_html
from rag.values.answer import Context

REPOSITORY = Path(__file__).parents[5]
DATA = REPOSITORY.parent / "shared" / "data"

_PIECES = (
    "<b> </b> <i> </i> <p> </p> <ul> <ol¬start=4> <li> </li> </ul> <a¬href='http://x.y/(z)'> <a¬href='`'> </a> <br> "
    "<hr> <code> </code> <pre> </pre> <table> <tr> <td> </table> <script> </script> <blockquote> </blockquote> <h2> "
    "</h2> <foo> </foo> <your¬name> <sup> </sup> <div> </div> <!-- --> <img¬src=x¬onerror=a> &lt; &amp; &gt; &nbsp; "
    "&amp;lt; &#60; ` `` < << > \\ 0 - 1. b> lt; # | text ](javascript:x) [a]:¬data:x,y \x01 \x05"
)
_LINES = [
    "\n",
    "\n\n",
    "    ",
    "\n```\n",
    "\n~~~\n",
    "\n- ",
    "\n2. ",
    "\n> ",
    "\n# ",
    "| a | b |\n| - | - |\n",
    "\t",
    " ",
]
MESS = st.lists(st.sampled_from([*_PIECES.split(" "), *_LINES]), max_size=25).map(
    lambda pieces: "".join(pieces).replace("¬", " ")
)


def live(text: str) -> list[str]:
    """What a reader of ``text`` could take for HTML, or for a link that runs something."""
    plain = CODE.sub("\n", text)
    tags = re.findall(r"<(?!https?://|mailto:|[^\s<>]+@)((?:[/!?]|[A-Za-z][^\s/>]*)[^<>]*)", plain)
    links = re.findall(r"(?:\]\(|^\[\w\]:)\s*<?\s*(?:javascript|vbscript|data):", plain, re.IGNORECASE)
    return [
        tag for tag in tags if tag[0] in "/!?" or "=" in tag or re.split(r"[\s/]", tag)[0].lower() in ELEMENTS
    ] + links


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
        ("| Riders | front<br>back |\n| --- | --- |\n| a | b |", "| Riders | front back |\n| --- | --- |\n| a | b |"),
        ("<blockquote>one<p>two</p></blockquote>after", "> one\n>\n> two\n\nafter"),
        ('<pre><code class="language-sh">a &lt; b\n\n\n    c</code></pre>', "```sh\na < b\n\n\n    c\n```"),
        ('<pre>\n<div class="a">\n</div></pre>', '```\n<div class="a">\n</div>\n```'),
        ("<ul><li>Run<pre>ls\n\nps</pre></li></ul>", "- Run\n\n  ```\n  ls\n  \n  ps\n  ```"),
        ("Use <code>a &amp;&amp; b</code>", "Use `a && b`"),
        ("10<sup>6</sup> and H<sub>2</sub>O", "10^6 and H2O"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<answer>Yes.</answer>", "Yes."),
        ("<ul>\n\n    <li>one</li>\n\n    <li>two</li>\n\n</ul>", "- one\n- two"),
        ("<details><summary>More</summary>\n\n- a\n  - b\n</details>", "More\n\n- a\n  - b"),
        ('<p>Run:</p>\n\n```sh\necho "<b>" &amp; x\n\n\n  y\n```\n<ul><li>see `<li>`</li></ul>',
         'Run:\n\n```sh\necho "<b>" &amp; x\n\n\n  y\n```\n\n- see `<li>`'),
        ("</div>left</p><b></b>", "left"),
    ],
)  # fmt: skip
def test_formatting_becomes_markdown(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("Tom &amp; Jerry &#39;s &quot;show&quot;&nbsp;&copy;", 'Tom & Jerry \'s "show" ©'),
        ("5 &lt; 6, AT&T, &unknown; &amp;ast;", "5 < 6, AT&T, &unknown; &amp;ast;"),
        ("&lt;b&gt; makes bold, &amp;lt;b> &#60;b> too", "&lt;b&gt; makes bold, &amp;lt;b> &#60;b> too"),
    ],
)
def test_references_are_decoded_but_for_what_would_be_markup(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("a<script>alert(`1`)</script>b<style>p{}</style>", "ab"),
        ("a<script>if (x<y && z=='</p>') {}</script>b", "ab"),
        ("a<iframe src=x>inner</iframe><svg><b>x</b></svg>b", "ab"),
        ("<img src=x onerror=alert(1) alt='a map'>", "a map"),
        ('<a href="javascript:alert(1)">click</a> <a href="JaVa&#9;Script:x">here</a>', "click here"),
        ("[a](javascript:x(1)) ![b]( JaVa&#115;cript:x) [c](<data:text/html,x>)", "[a](#) ![b]( #) [c](#)"),
        ("See [a][1].\n\n[1]: javascript:alert(1)", "See [a][1].\n\n[1]: #"),
        ("<x-y onclick=run()>text</x-y>", "text"),
        ("a<!-- hidden -->b<!DOCTYPE html>", "ab"),
        ("<<i></i>script>x</script>", "< script>x"),
        ("<img src=x onerror=alert(1)//", "< img src=x onerror=alert(1)//"),
    ],
)
def test_what_could_run_is_gone(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    ("given_text", "result"),
    [
        ("Put <script> last, and use <button class=start>.", "Put < script> last, and use < button class=start>."),
        ("Use the <b> tag, or <input hours>", "Use the < b> tag, or <input hours>"),
    ],
)
def test_a_tag_that_is_mentioned_can_be_read(given_text: str, result: str) -> None:
    assert html_to_markdown(given_text) == result


@pytest.mark.parametrize(
    "text",
    [
        "plain *Markdown*, 5 < 6 > 4, a <- b, x <= 5 && y >= 6, `x`\n\n- a\n  - b\n\n    deep",
        "List<String>, Map<K, V>, <your name>, <your-key>, <https://example.org>, <a@b.org>",
        "Yes [id_3], [R&D Handbook > Pay & leave] \u3010id_3\u3011 [a](https://x.org/a_(b)) and [b](c.md).",
        "```html\n<p>&amp;</p>\n\n\n<b>\n```",
        "~~~\n<b>\n~~~",
        "> ```\n> <b>\n> ```",
        "1. Run:\n\n   ```sh\n   <b>\n   ```\n2. Next",
        '`<b>` and ``a ` <i>`` and `<button class="start">Go</button>`',
        "```\n<b> never closed",
        "a < p\n\n```\n;\n```\n\n>",
    ],
)
def test_markdown_and_code_stay(text: str) -> None:
    assert html_to_markdown(text) == text


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/adversarial")
@pytest.mark.parametrize("name", ["blns/blns.json", "xss/sample500.json"])
@pytest.mark.parametrize("around", ["{}", "You asked: {}", "{}\n\nIt is so [id_3]."])
def test_nothing_of_hostile_texts_is_live(name: str, around: str) -> None:
    for text in json.loads((DATA / "adversarial" / name).read_text(encoding="utf-8")):
        shown = html_to_markdown(around.format(text))
        assert not live(shown), (text, shown)


@settings(max_examples=300)
@given(MESS)
def test_no_tag_survives_and_converting_twice_is_converting_once(text: str) -> None:
    once = html_to_markdown(text)
    assert not live(once)
    assert html_to_markdown(once) == once


@given(st.text())
def test_any_text_is_converted(text: str) -> None:
    once = html_to_markdown(text)
    assert html_to_markdown(once) == once


@given(st.text(alphabet="ab <>&;#*\n-_b/p", max_size=60), st.text(alphabet="<>b&;am p/\n", min_size=1, max_size=30))
def test_fenced_code_is_untouched_whatever_stands_around_it(around: str, code: str) -> None:
    block = f"\n```\n{code}\n```\n"
    assert block.strip("\n") in html_to_markdown(f"{around}\n{block}\n{around}")


@pytest.mark.parametrize("end", ["", "</b></a></script>-->"])
@pytest.mark.parametrize(
    "piece",
    ["<b>", "&amp;", "<ul><li>", "<!--", '<a href="', "<td>x", "\n\n    <b>", "- ", "`a", " ", "[a](", "<script>"],
)
def test_long_and_hostile_texts_are_finished(piece: str, end: str) -> None:
    assert len(html_to_markdown(piece * 5_000 + end)) <= 2 * len(piece) * 5_000 + 100


@pytest.mark.parametrize("text", ["<!--" * 100_000, "<!-- -" * 60_000, f"<{'a.' * 200_000}", "<b>" * 130_000])
def test_what_nothing_closes_is_read_once(text: str) -> None:
    """Less than a second; where each beginning was followed up to the end it took minutes."""
    start = time.process_time()
    html_to_markdown(text)
    assert time.process_time() - start < 20


def test_comments_go_and_what_only_begins_one_does_not_take_the_rest() -> None:
    assert html_to_markdown("a<!-- <b> -->b <!-- c <!-- d -->e <!DOCTYPE x>f <!--g> h <!-- i") == "ab e f  h < !-- i"


def test_the_stage_says_what_it_did() -> None:
    empty = Context("", ())
    assert polish_html("<b>x</b>", empty).text == "**x**"
    assert polish_html("<b>x</b>", empty).trail == ("converted HTML in the answer to Markdown",)
    assert polish_html("x", empty).trail == ()
