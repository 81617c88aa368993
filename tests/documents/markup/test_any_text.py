"""No text, however odd, stops ``as_read``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.markup import Surroundings, as_read

FRAGMENTS = [
    *("{{< a >}}", "{{< /a >}}", "{{%", "%}}", "{{", "}}", "{% raw %}", "{% endraw %}", "{% if x %}", "{%", "%}"),
    *(":::note\n", ":::\n", "::a{b}\n", "---\n", "#slot\n", "!!! tip\n", "    ", "/// tip\n", "///\n", '=== "A"\n'),
    *("<div>\n", "</div>\n", "<table>", "<td rowspan=9>", "</table>", "<A b={c}>", "</A>", "<pre>", "</pre>", "<br>"),
    *("`", "```\n", "~~~", "{.a}", "{: #b}", "# T ", "- ", "> ", "|", "<!--", "-->", "{#include x}", "{!> x !}"),
    *("import a from 'b'\n", "export {\n", "\n", "\n\n", "\t", "text ", "\ufdd0", "1", "\ufdd1", "\ufdd2", "\0", "\\"),
]


def read(text: str, kind: str, suffix: str) -> str:
    nowhere = Path("/nowhere")
    surroundings = Surroundings(file=nowhere / f"a{suffix}", root=nowhere, kind=kind, page={}, site={})
    return as_read(text, surroundings=surroundings)


@settings(max_examples=300, deadline=None)
@given(
    text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join),
    kind=st.sampled_from(["", "hugo", "jekyll", "mkdocs", "docusaurus", "mdbook", "nuxt", "vitepress", "sphinx"]),
    suffix=st.sampled_from([".md", ".mdx"]),
)
def test_any_text_gives_text(text: str, kind: str, suffix: str) -> None:
    assert isinstance(read(text, kind, suffix), str)


@given(st.lists(st.text(alphabet="abc ,.;()\"'é", min_size=1, max_size=60), max_size=8).map("\n\n".join))
def test_prose_stays_as_it_is(text: str) -> None:
    once = read(text, "", ".md")
    assert once.split() == text.split()
    assert read(once, "", ".md") == once


@pytest.mark.parametrize("nested", ["<div>\n", ":::a\n", "{{< a >}}", "<table><tr><td>", "<ul><li>", "{", "> "])
def test_deep_nesting_is_no_recursion(nested: str) -> None:
    assert isinstance(read(nested * 3000, "", ".mdx"), str)


@pytest.mark.parametrize("opening", ["{% a ", "{{#include "])
def test_tags_without_an_end_take_no_hours(opening: str) -> None:
    """Each one looked for its end in all of the paragraph."""
    assert "word" in read(opening * 30_000 + "\n\nword", "jekyll", ".md")
