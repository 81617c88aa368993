"""rag.answer.render: what was read, as Markdown and as nodes, and nothing that runs."""

import json
from typing import Any

import pytest
from fakes import make_hit
from faults.drawing import by_night
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.answer import tree as t
from rag.answer.citation_forms import IdForm
from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.references import ReferenceResolver
from rag.answer.render import json_nodes, render_inline, render_markdown

CITE = t.Cite(3, (3,), "[id_3]", "T", "")
HITS = tuple(make_hit(number=number) for number in (1, 3))


def read(text: str) -> t.Tree:
    return ReferenceResolver(IdForm(), HITS)(parse_markdown(text, IdForm()))


def written(text: str) -> str:
    return render_markdown(read(normalise_text(text))).text


def nodes(tree: str | t.Tree) -> list[Any]:
    return json_nodes(read(tree) if isinstance(tree, str) else tree, lambda chunk: (chunk, f"id_{chunk}"))


def node(tag: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"tag": tag, "children": list(children), **more}


def words_of(text: str) -> list[Any]:
    """The nodes without blanks."""
    return _without_blanks(nodes(text))


def _without_blanks(nodes: list[Any]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if not isinstance(node, str):
            found.append({**node, "children": _without_blanks(node["children"])})
        elif words := "".join(node.split()):
            found.append(f"{found.pop()}{words}" if found and isinstance(found[-1], str) else words)
    return found


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
        "*not* `code` [no](x) ![no](x) <b> &amp; ~~s~~ __a__ \\", "# no heading", "1. no item", "| no | row |",
        "[no]: y",
    ],
)  # fmt: skip
def test_nothing_in_a_text_is_markup(text: str) -> None:
    tree = (t.Paragraph((t.Text(text),)),)
    assert words_of(render_markdown(tree).text) == [node("p", text.replace(" ", ""))]


def test_a_citation_is_told_where_it_stands_and_in_a_line_alone_it_is_none() -> None:
    page, behind = t.Link("https://a.example/b", (t.Text("the page"),)), t.Cite(4, (4,), "", "T", "")
    made = render_markdown((t.Paragraph((t.Text("Yes "), CITE, t.Text(". See "), page, behind, t.Text("."))),))
    assert made.text == "Yes [id_3]. See [the page](https://a.example/b)."
    assert [made.text[start:end] for start, end, _ in made.marks] == ["[id_3]", "[the page](https://a.example/b)"]
    assert render_inline((t.Text("a*b "), t.Code("x"), CITE)) == "a\\*b `x`"


def test_a_mark_makes_no_link_and_no_image_of_what_stands_beside_it() -> None:
    text = render_markdown((t.Paragraph((t.Text("Yes!"), CITE, t.Text("(https: //x): no"))),)).text
    assert [node["tag"] for node in words_of(text)[0]["children"] if isinstance(node, dict)] == ["cite"]


PIECES = [
    "Fees are due. ", "*", "**", "_", "~~", "`", "``", "```\n", "\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n# ", "\n    ",
    "[id_1]", "[x](https://a.example/b)", "![x](y.png)", "https://a.example/b", "<https://a.example>", "<b>", "</b>",
    "<b>Note: </b>", "<p>", "<br>", "<h2>", "<code>", "</code>", "<pre>", "</pre>", "<table>", "<tr>", "<td>", "\\",
    "&amp;", "&lt;", "!", "[", "]", "(", ")", " ", "a", "1", "---\n", "| a | b |\n|---|---|\n", "|", "| 1 | 2 |\n",
    "~~~\n", "\n===\n",
]  # fmt: skip


@example("*<b>Note: </b>*")
@settings(max_examples=by_night(150, 2000), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join).map(normalise_text))
def test_what_was_written_renders_as_what_was_read(text: str) -> None:
    """But for blanks side by side and at the edges of what they stand in."""
    once = written(text)
    assert words_of(once) == words_of(text)
    assert t.plain_text(read(once)).split() == t.plain_text(read(text)).split()


def test_markdown_becomes_nodes() -> None:
    assert nodes("A **bold** `x<y`\nline.\n\n1. one\n2. two") == [
        node("p", "A ", node("strong", "bold"), " ", node("code", "x<y"), "\n", "line."),
        node("ol", node("li", "one"), node("li", "two"), start=1),
    ]
    (table,) = nodes("| a | b |\n|---|--:|\n| 1 | 2 |")
    (row,) = table["children"][1]["children"]
    assert (table["tag"], row["children"][1]) == ("table", node("td", "2", align="right"))


def test_each_name_of_a_mark_is_a_chip_that_opens_its_passage() -> None:
    chips = node("cite", n=3, chunkId="id_3"), node("cite", n=1, chunkId="id_1")
    page = node("a", "the page", href="https://a.example/b")
    assert nodes("Fifty [id_3, id_1]. See [the page](https://a.example/b).") == [
        node("p", "Fifty ", *chips, ". See ", page, ".")
    ]


def test_what_was_checked_is_a_node_in_tables_and_around_code_too() -> None:
    def said(*children: t.Inline) -> tuple[t.Inline, ...]:
        return (t.ClaimSpan(children, 0, "unsupported", "not found in the sources"),)

    tree = (
        t.Paragraph(said(t.Text("It is free."))),
        t.TableBlock((t.TableRow((t.TableCell((t.Text("a"),)),)), t.TableRow((t.TableCell(said(t.Text("1"))),)))),
        t.CodeBlock("rm x", children=said()),
    )
    note = node("note", "not found in the sources")
    paragraph, table, code = nodes(tree)
    assert paragraph == node("p", node("statement", "It is free.", " ", note, support="unsupported"))
    cell = node("td", node("statement", "1", " ", note, support="unsupported"))
    assert table["children"][1] == node("tbody", node("tr", cell))
    assert code == node("statement", node("pre", node("code", "rm x")), " ", note, support="unsupported")
    assert t.plain_text(tree).startswith("It is free. (not found in the sources)\n")


def test_no_html_and_no_link_that_runs() -> None:
    assert nodes("<img src=x onerror=alert(1)") == [node("p", "<img src=x onerror=alert(1)")]
    assert "href" not in json.dumps(nodes("[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example)"))
    assert nodes("![i](https://a.example/i.png)") == [node("p", "i")]


@pytest.mark.parametrize(
    "text", ["\ue0001\ue001 \ue002 \ue003", "`\ue0009\ue001`", "<cite n=1>x</cite>", "<note>x</note>"]
)
def test_nothing_that_a_model_writes_but_its_marks_is_a_chip_or_a_note(text: str) -> None:
    assert '"cite"' not in json.dumps(nodes(text))
    assert '"note"' not in json.dumps(nodes(text))
