"""rag.answer.restrict_links: an answer links to addresses in its passages, and nowhere else."""

import pytest
from attacks.reading import leads
from fakes import make_hit

from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.render import render_markdown
from rag.answer.restrict_links import RestrictLinks, allowed_urls
from rag.answer.tree import Tree

PAGE = "https://a.example/guide"
EVIL = "https://b.example/x"
CHUNK = make_hit(f"See [x]({PAGE}), ![y](y.png) and me@a.example.", number=1).chunk
HELD = allowed_urls(CHUNK)


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
        "javascript:alert(1)", "data:text/html,x", "https://a.example\\@b.example", "https://a\u200b.example/guide",
    ],
)  # fmt: skip
def test_an_address_is_the_whole_of_it(address: str) -> None:
    assert render_markdown(restricted(f"[x](<{address}>)")).text == "x"


def test_a_passage_lends_no_script_and_no_part_of_an_address() -> None:
    chunk = make_hit("[x](javascript:alert(1)) [y](data:,x) <https://a.example/b?c=d&amp;e=f>").chunk
    assert allowed_urls(chunk) == {"//a.example/b?c=d&e=f"}
