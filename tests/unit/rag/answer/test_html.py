"""rag.answer.html and restrict_links, through the reader: HTML becomes Markdown, none runs, and no link leads away."""

import re
import time

import pytest
from attacks.reading import leads, nodes_lead
from fakes import make_hit
from faults.drawing import by_night
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.render import JsonNode, json_nodes, render_markdown
from rag.answer.restrict_links import RestrictLinks, allowed_urls
from rag.answer.tree import Tree

_MARKDOWN_TAGS = "p ul ol li strong em s code pre blockquote h1 h2 h3 h4 h5 h6 hr br table thead tbody tr th td a"
TAGS = {*_MARKDOWN_TAGS.split(), "cite", "statement", "note"}
"""All that nodes have."""


def shown(text: str) -> str:
    """What is answered where ``text`` was written, and no passage is cited."""
    return render_markdown(RestrictLinks(())(parse_markdown(normalise_text(text)))).text


def tags(nodes: list[JsonNode]) -> set[str]:
    return {tag for node in nodes if isinstance(node, dict) for tag in ({node["tag"]} | tags(node["children"]))}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("<p>Hello <b>bold</b> and <em>this</em>.</p><p>Bye</p>", "Hello **bold** and *this*.\n\nBye"),
        ("<ul>\n  <li>One</li>\n  <li>Two<ol><li>a<li>b</ol></li>\n</ul>", "- One\n- Two\n  1. a\n  2. b"),
        ("<ol start=3><li>x</li><li>y</li></ol>", "3. x\n4. y"),
        ("<ul><li>a<p>b</p></li></ul>", "- a\n\n  b"),
        ("- a<p>b</p>", "- a\n\n  b"),
        ("<h2>Before you\n start</h2>Text", "## Before you start\n\nText"),
        ("one<br>two<br/><br />three", "one  \ntwo  \nthree"),
        (
            "<table><tr><th>Form</th><th>Fee</th></tr><tr><td>a|b</td><td>5<br>USD</td></tr></table>",
            "| Form | Fee |\n| --- | --- |\n| a\\|b | 5 USD |",
        ),
        ("| a | front<br>back |\n| --- | --- |\n| a | b |", "| a | front back |\n| --- | --- |\n| a | b |"),
        ("<blockquote>one<p>two</p></blockquote>after", "> one\n>\n> two\n\nafter"),
        ('<pre><code class="language-sh">a &lt; b\n\n\n    c</code></pre>', "```sh\na < b\n\n\n    c\n```"),
        ("Use <code>a &amp;&amp; b</code>, 10<sup>6</sup> and H<sub>2</sub>O", "Use `a && b`, 10^6 and H2O"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<answer>Yes.</answer>", "Yes."),
        ("<details><summary>More</summary>\n\n- a\n  - b\n</details>", "More\n\n- a\n  - b"),
        ("</div>left</p><b></b>", "left"),
        ("Tom &amp; Jerry &#39;s &quot;show&quot;&copy;, 5 &lt; 6", 'Tom & Jerry \'s "show"©, 5 < 6'),
    ],
)
def test_formatting_becomes_markdown(text: str, result: str) -> None:
    assert " ".join(shown(text).split(" ")) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a<script>alert(`1`)</script>b<style>p{}</style>", "ab"),
        ("<script>\nalert(1)\n\n</script>\n\nHi", "Hi"),
        ("a<iframe src=x>inner</iframe><svg><b>x</b></svg>b", "ab"),
        ("<img src=x onerror=alert(1) alt='a map'>", "a map"),
        ('<a href="javascript:alert(1)">click</a> <a href="JaVa&#9;Script:x">here</a>', "click here"),
        ("[a](javascript:x(1)) ![b]( JaVa&#115;cript:x) [c](<data:text/html,x>)", "a b c"),
        ("<x-y onclick=run()>text</x-y>", "text"),
        ("a<!-- hidden -->b<!DOCTYPE html>", "ab"),
    ],
)
def test_what_could_run_is_gone(text: str, result: str) -> None:
    assert shown(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "Put <script> last, and use <button class=start>.",
        "Use the <b> tag, or <input hours>",
        "List<String>, Map<K, V>, <your name>, <your-key> and a <!-- that never ends",
        "&lt;b&gt; makes bold",
    ],
)
def test_a_tag_that_is_mentioned_can_be_read(text: str) -> None:
    (node,) = json_nodes(parse_markdown(text), lambda chunk: (chunk, ""))
    assert node == {"tag": "p", "children": [text.replace("&lt;", "<").replace("&gt;", ">")]}


_TAGS = (
    "<b> </b> <i> <p> </p> <ul> <ol¬start=4> <li> </li> </ul> <a¬href='http://x.y/(z)'> <a¬href='`'> </a> <br> <hr> "
    "<code> </code> <pre> </pre> <table> <tr> <td> </table> <script> </script> <style> <blockquote> </blockquote> <h2> "
    "</h2> <foo> <your¬name> <sup> <div> </div> <!-- --> <img¬src=x¬onerror=alert> &lt; &amp; &#60; ` `` < << > \\ b> # "  # noqa: E501
    "| alert ](javascript:x) ![ [a]:¬data:x,y * ** ~~"
)
_LINES = ["\n", "\n\n", "    ", "\n```\n", "\n~~~\n", "\n- ", "\n2. ", "\n> ", "| a | b |\n| - | - |\n", "\t", " "]
MESS = st.lists(st.sampled_from([*(piece.replace("¬", " ") for piece in _TAGS.split(" ")), *_LINES]), max_size=25)


@settings(max_examples=by_night(150, 2000), deadline=None)
@given(MESS.map("".join))
def test_nothing_of_scripts_and_no_tag_remains_whatever_is_mixed(text: str) -> None:
    tree = RestrictLinks(())(parse_markdown(normalise_text(text)))
    nodes = json_nodes(tree, lambda chunk: (chunk, ""))
    assert leads(render_markdown(tree).text) == []
    assert (tags(nodes) <= TAGS, list(nodes_lead(nodes))) == (True, [])


@pytest.mark.parametrize("piece", ["<!--", "<!-- -", "<a.", "<b>", "<ul><li>", '<a href="', "[a](", "<script>"])
def test_what_nothing_closes_is_read_once(piece: str) -> None:
    """Well under a second; where each beginning was followed up to the end it took minutes."""
    start = time.process_time()
    assert re.search(r"\w|\\<|^$", shown((piece * 40_000)[:100_000]))
    assert time.process_time() - start < 30


PAGE = "https://a.example/guide"
EVIL = "https://b.example/x"
CHUNK = make_hit(f"See [x]({PAGE}), ![y](y.png) and me@a.example.", number=1).chunk


def restricted(text: str, *, cited: bool = True) -> Tree:
    return RestrictLinks([CHUNK])(parse_markdown(normalise_text(text)), cited=(1,) if cited else ())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"See [the page]({EVIL}).", "See the page."),
        (f"![A map]({EVIL})", "A map"),
        (f"[![A map]({EVIL})]({EVIL})", "A map"),
        (f"<{EVIL}>", f"`{EVIL}`"),
        (f"Look at {EVIL}, or www.b.example.", f"Look at `{EVIL}`, or `www.b.example`."),
        ("Write to you@b.example.", "Write to `you@b.example`."),
        (f"[x][1] and [x]\n\n[1]: {EVIL}\n[x]: {EVIL} 'x'", "x and x"),
        (f"[{EVIL}]({PAGE})", f"[`{EVIL}`]({PAGE})"),
        (f"| a |\n|---|\n| [x \\| y]({EVIL}) |", "| a |\n| --- |\n| x \\| y |"),
        ("https\\://b.example and https&colon;//b.example", "`https://b.example` and `https://b.example`"),
        (f'<a href="{EVIL}">x</a> <a href={EVIL}> y', f"x \\<a href=`{EVIL}`> y"),
    ],
)
def test_what_no_passage_holds_is_text(text: str, left: str) -> None:
    assert render_markdown(restricted(text)).text == left


@pytest.mark.parametrize(
    "text",
    [
        f"See [the page]({PAGE}/), [it]({PAGE}#part), <{PAGE}>. **<{PAGE}>**",
        "![y](y.png) and [mail](mailto:ME@a.example) and [x](HTTP://A.example:80/%67uide)",
        f"`[x]({EVIL})` and\n\n```\n<b> {EVIL}\n```",
    ],
)
def test_what_a_cited_passage_holds_and_code_stays(text: str) -> None:
    assert render_markdown(restricted(text)).text == text
    restrict = RestrictLinks([CHUNK])
    restrict(parse_markdown(normalise_text(text)), cited=(1,))
    assert restrict.removed == 0
    if PAGE in text:
        assert PAGE not in [to for kind, to in leads(render_markdown(restricted(text, cited=False)).text)]


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example.b.example/guide", "https://b.example/guide", "https://a.example@b.example/guide",
        "https://a.example/guide/x", "https://a.example/guid", "https://a.example/guide?x=1", "//b.example/guide",
        "https://a.example:8080/guide", "/guide", "guide", "https://a.example/Guide", "https://xa.example/guide",
        "javascript:alert(1)", "data:text/html,x", "https://a.example\\@b.example", "https://[a.example/guide", "https://a\u200b.example/guide",
    ],
)  # fmt: skip
def test_an_address_is_the_whole_of_it(address: str) -> None:
    assert render_markdown(restricted(f"[x](<{address}>)")).text == "x"


def test_a_passage_lends_no_script_and_no_part_of_an_address() -> None:
    chunk = make_hit("[x](javascript:alert(1)) [y](data:,x) <https://a.example/b?c=d&amp;e=f>").chunk
    assert allowed_urls(chunk) == {"//a.example/b?c=d&e=f"}
