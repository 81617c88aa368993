"""rag.answer.markdown: what was read is written so that every reader reads it as the same."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_hit
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.answer.forms import IdForm
from rag.answer.inline_markdown import inline_markdown
from rag.answer.markdown import markdown
from rag.answer.printers import nodes_of, plain_text
from rag.answer.read import Reader, normalised
from rag.answer.references import References
from rag.answer.tree import Cite, Code, Link, Paragraph, Text, Tree

HITS = tuple(make_hit(number=number) for number in (1, 3))


def read(text: str) -> Tree:
    return References(IdForm(), HITS)(Reader(IdForm())(text)).tree


def written(text: str) -> str:
    return markdown(read(normalised(text))).text


@pytest.mark.parametrize(
    "text",
    [
        "plain *Markdown*, 5 < 6 > 4, a <- b, x <= 5 && y >= 6, `x`\n\n- a\n  - b",
        "# A\n\n## B c\n\n1. one\n2. two\n\n   more\n\n> said\n>\n> - twice",
        "It is so [id_3]. See [a](https://x.org/a_b 'T') and <https://b.org>.".replace("'", '"'),
        "```html\n<p>&amp;</p>\n\n\n<b>\n```\n\n~~~\n```\n~~~",
        "1. Run:\n\n   ```sh\n   <b>\n   ```\n2. Next",
        "| a | b |\n| --- | --: |\n| `x\\|y` | 1 |",
    ],
)
def test_what_is_written_plainly_is_written_the_same(text: str) -> None:
    assert written(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "*not* `code` [no](x) ![no](x) <b> &amp; ~~s~~ __a__ \\",
        "# no heading", "1. no item", "| no | row |", "[no]: y",
    ],
)  # fmt: skip
def test_nothing_in_a_text_is_markup(text: str) -> None:
    tree = (Paragraph((Text(text),)),)
    assert _nodes(markdown(tree).text) == [{"tag": "p", "children": [text.replace(" ", "")]}]


def test_a_citation_is_told_where_it_stands() -> None:
    cite = Cite(3, (3,), "[id_3]", "T", "")
    behind = Cite(4, (4,), "", "T", "")
    page = Link("https://a.example/b", (Text("the page"),))
    made = markdown((Paragraph((Text("Yes "), cite, Text(". See "), page, behind, Text("."))),))
    assert made.text == "Yes [id_3]. See [the page](https://a.example/b)."
    assert [made.text[start:end] for start, end, _ in made.marks] == ["[id_3]", "[the page](https://a.example/b)"]


def test_a_mark_makes_no_link_and_no_image_of_what_stands_beside_it() -> None:
    cite = Cite(3, (3,), "[id_3]", "T", "")
    text = markdown((Paragraph((Text("Yes!"), cite, Text("(https: //x): no"))),)).text
    assert [node["tag"] for node in _nodes(text)[0]["children"] if isinstance(node, dict)] == ["cite"]


def test_a_line_alone_without_its_citations() -> None:
    assert inline_markdown((Text("a*b "), Code("x"), Cite(3, (3,), "[id_3]", "T", ""))) == "a\\*b `x`"


PIECES = [
    "Fees are due. ", "*", "**", "_", "~~", "`", "``", "```\n", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n# ", "\n    ",
    "[id_1]", "[x](https://a.example/b)", "![x](y.png)", "https://a.example/b", "<https://a.example>", "<b>", "</b>",
    "<b>Note: </b>", "<p>", "<br>", "<h2>", "<code>", "</code>", "<pre>", "</pre>", "<table>", "<tr>", "<td>", "\\",
    "&amp;", "&lt;", "!", "[", "]", "(", ")", " ", "a", "1", "---\n", "| a | b |\n|---|---|\n", "|", "| 1 | 2 |\n",
    "~~~\n", "\n===\n",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join).map(normalised))
def test_what_was_written_renders_as_what_was_read(text: str) -> None:
    """But for blanks side by side and at the edges of what they stand in."""
    once = written(text)
    assert _nodes(once) == _nodes(text)
    assert plain_text(read(once)).split() == plain_text(read(text)).split()


def _nodes(text: str) -> list[Any]:
    return _without_blanks(nodes_of(read(text), lambda chunk: (chunk, "")))


def _without_blanks(nodes: list[Any]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if not isinstance(node, str):
            found.append({**node, "children": _without_blanks(node["children"])})
        elif words := "".join(node.split()):
            found.append(f"{found.pop()}{words}" if found and isinstance(found[-1], str) else words)
    return found
