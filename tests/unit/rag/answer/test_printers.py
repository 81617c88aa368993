"""rag.answer.printers: what a page shows of an answer, and nothing that runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import make_hit

from rag.answer.forms import IdForm
from rag.answer.printers import nodes_of, plain_text
from rag.answer.read import Reader
from rag.answer.references import References
from rag.answer.tree import Cell, CodeBlock, Inline, Paragraph, Row, Statement, Table, Text

HITS = tuple(make_hit(number=number) for number in (7, 8))


def nodes(text: str) -> list[Any]:
    tree = References(IdForm(), HITS)(Reader(IdForm())(text)).tree
    return nodes_of(tree, lambda chunk: (chunk - 6, f"id_{chunk}"))


def node(tag: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"tag": tag, "children": list(children), **more}


def test_markdown_becomes_nodes() -> None:
    assert nodes("A **bold** `x<y`\nline.\n\n1. one\n2. two") == [
        node("p", "A ", node("strong", "bold"), " ", node("code", "x<y"), "\n", "line."),
        node("ol", node("li", "one"), node("li", "two"), start=1),
    ]
    table = nodes("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert table[0]["tag"] == "table"
    assert table[0]["children"][1]["children"][0]["children"][1] == node("td", "2", align="right")


def test_each_name_of_a_mark_is_a_chip_that_opens_its_passage() -> None:
    assert nodes("Fifty [id_8, id_7]. See [the page](https://a.example/b).") == [
        node(
            "p",
            "Fifty ",
            node("cite", n=2, chunkId="id_8"),
            node("cite", n=1, chunkId="id_7"),
            ". See ",
            node("a", "the page", href="https://a.example/b"),
            ".",
        )
    ]


def test_what_was_checked_is_a_node_in_tables_and_around_code_too() -> None:
    def said(*children: Inline) -> tuple[Inline, ...]:
        return (Statement(children, 0, "unsupported", "not found in the sources"),)

    tree = (
        Paragraph(said(Text("It is free."))),
        Table((Row((Cell((Text("a"),)),)), Row((Cell(said(Text("1"))),)))),
        CodeBlock("rm x", children=said()),
    )
    note = node("note", "not found in the sources")
    paragraph, table, code = nodes_of(tree, lambda chunk: (chunk, ""))
    assert paragraph == node("p", node("statement", "It is free.", " ", note, support="unsupported"))
    assert table["children"][1]["children"][0]["children"] == [  # type: ignore[index]
        node("td", node("statement", "1", " ", note, support="unsupported"))
    ]
    assert code == node("statement", node("pre", node("code", "rm x")), " ", note, support="unsupported")
    assert plain_text(tree).startswith("It is free. (not found in the sources)\n")


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
