"""An answer's Markdown as a tree: what a page shows of it, and nothing that runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.http.rendered import LINKED, TAGS, rendered
from rag.stages.score.confidence import NO_SOURCES
from rag.values.answer import Answer, Placed, Question


def tree(text: str, *marks: Placed) -> list[Any]:
    question = Question(text="What is it?")
    return rendered(
        Answer(
            text=text,
            question=question,
            profile="p",
            response_id="r",
            confidence=NO_SOURCES,
            refused=False,
            marks=marks,
        )
    )


def node(tag: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"tag": tag, "children": list(children), **more}


def test_markdown_becomes_nodes() -> None:
    assert tree("A **bold** `x<y`\nline.\n\n1. one\n2. two") == [
        node("p", "A ", node("strong", "bold"), " ", node("code", "x<y"), "\n", "line."),
        node("ol", node("li", "one"), node("li", "two")),
    ]
    table = tree("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert table[0]["tag"] == "table"
    assert table[0]["children"][1]["children"][0]["children"][1] == node("td", "2", align="right")


def test_marks_become_chips_where_they_stand_and_behind_links() -> None:
    text = "Fifty. [Fees] See [the page](https://a.example/b)."
    end = text.index(").") + 1
    assert tree(text, Placed(7, 13, (0, 2)), Placed(end, end, (1,))) == [
        node(
            "p",
            "Fifty. ",
            node("cite", n=1),
            node("cite", n=3),
            " See ",
            node("a", "the page", href="https://a.example/b"),
            node("cite", n=2),
            ".",
        )
    ]


def test_what_no_source_supports_is_a_node_of_its_own() -> None:
    assert tree("It is free. *(not found in the sources)*") == [
        node("p", "It is free. ", node("unsupported", "not found in the sources"))
    ]


def test_no_html_and_no_link_that_runs() -> None:
    assert tree("<img src=x onerror=alert(1)>") == [node("p", "<img src=x onerror=alert(1)>")]
    assert tree("[a](javascript:alert(1)) ![i](https://a.example/i.png)")[0]["tag"] == "p"
    assert "href" not in json.dumps(tree("[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example)"))


@pytest.mark.parametrize("text", ["\ue0001\ue001 \ue002 \ue003", "`\ue0009\ue001`"])
def test_private_characters_of_the_model_mean_nothing(text: str) -> None:
    assert "cite" not in json.dumps(tree(text))
    assert "unsupported" not in json.dumps(tree(text))


@given(
    st.text(alphabet=st.sampled_from("ab *_`[]()<>#|-+1.\n\\!&;:/\"'\ue000\ue001\ue002") | st.characters(), max_size=80)
)
def test_any_text_becomes_known_nodes(text: str) -> None:
    def check(nodes: list[Any]) -> None:
        for one in nodes:
            if isinstance(one, dict):
                assert one["tag"] in TAGS
                assert one.keys() <= {"tag", "children", "href", "start", "align", "n"}
                assert one.get("href", "http://").lower().startswith(LINKED)
                check(one["children"])

    check(tree(text, Placed(0, min(2, len(text)), (0,))))
