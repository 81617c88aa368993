"""rag.stages.write.markdown_blocks: what no sentence goes beyond."""

from __future__ import annotations

import pytest

from rag.stages.write.markdown_blocks import Block, split_blocks


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("", []),
        ("One\ntwo\n\nthree", [Block("text", ("One two",)), Block("text", ("three",))]),
        ("# A\ntext", [Block("break"), Block("text", ("text",))]),
        ("text\n\n---\n", [Block("text", ("text",)), Block("break")]),
        (
            "Intro:\n- one\n  more\n2. [x] two",
            [Block("text", ("Intro:",)), Block("item", ("one more",)), Block("item", ("two",))],
        ),
        ("[^1]: A note\n[1]: https://a.example", [Block("item", ("A note",))]),
        (
            "| A | `b|c` |\n|:-|-:|\n| 1 \\| 2 | |",
            [Block("row", ("A", "\U00100062\U0010007c\U00100063")), Block("ruler"), Block("row", ("1 | 2", ""))],
        ),
        ("A | B\n--- | ---\n1 | 2", [Block("row", ("A", "B")), Block("ruler"), Block("row", ("1", "2"))]),
        ("```sh\n  a > b\n\n    *c*\n```\ntext", [Block("code", ("a > b", "  *c*")), Block("text", ("text",))]),
        ("```\n> x\n```", [Block("code", ("> x",))]),
        ("> ```\n> > x\n> ```", [Block("code", ("x",))]),
        ("```\n\n```", []),
        ("text\n> quote", [Block("text", ("text",)), Block("text", ("quote",))]),
        ("{% x %}", [Block("text", ("\ufffc",))]),
    ],
)
def test_blocks(markdown: str, blocks: list[Block]) -> None:
    assert list(split_blocks(markdown)) == blocks


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<p>one</p> two <br> three", [("text", ("one",)), ("text", ("two",)), ("text", ("three",))]),
        ("<ul><li>one</li><li><p>two</p></ul>", [("item", ("one",)), ("text", ("two",))]),
        ("- one<br>two", [("item", ("one",)), ("text", ("two",))]),
        ("`<p>` and \\<p>", [("text", ("\U0010003c\U00100070\U0010003e and <p>",))]),
        (
            "<table><tr><th>A<th>B</tr><tr><td>1<br>2</td><td><b>3</b></td></tr></table> end",
            [("row", ("A", "B")), ("ruler", ()), ("row", ("1 2", "3")), ("text", ("end",))],
        ),
        ("<tr><th>A</th><td>1</td></tr>", [("row", ("A", "1"))]),
        ("<td>1</td>", [("row", ("1",))]),
    ],
)
def test_html_tags_end_blocks_and_make_rows(html: str, blocks: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(block.kind, block.parts) for block in split_blocks(html)] == blocks
