"""Lists of definitions: one way for reStructuredText, AsciiDoc, HTML and Markdown."""

from pathlib import Path

import pytest

import documents

OPTIONS = "## Options{id}\n\n### {c}-v{c}, {c}--verbose{c}\n\nSay more.\n\n### {c}--dir=DIR{c}\n\nWhere.\n\n"
AFTER = "## Options{id}\n\nThat is all.\n"

RST = "Guide\n=====\n\nOptions\n-------\n\n-v, --verbose  Say more.\n--dir=DIR      Where.\n\nThat is all.\n"
ADOC = (
    "= Guide\n\nOptions\n-------\n`-v`::\n`--verbose`::\n  Say more.\n\n`--dir=DIR`:: Where.\n\n"
    "// two lists else\n\nThat is all.\n"
)
HTML = """<h1>Guide</h1><h2>Options</h2><dl><dt><code>-v</code><dt><code>--verbose</code></dt><dd>Say more.</dd>
<dt><code>--dir=DIR</code></dt><dd>Where.</dd></dl><p>That is all.</p>"""
MARKDOWN = "# Guide\n\n## Options\n\n`-v`\n`--verbose`\n: Say more.\n\n`--dir=DIR`\n\n:   Where.\n\nThat is all.\n"


def converted(text: str, suffix: str) -> str:
    made = documents.convert(text.encode(), suffix, decode=lambda data: (data.decode(), "")).text
    return made.split("---\n", 2)[2]


def as_read(text: str, tmp_path: Path) -> str:
    file = tmp_path / "page.md"
    return documents.clean_page(text, file=file, root=tmp_path, site=documents.find_site(tmp_path)).text


@pytest.mark.parametrize(
    ("text", "suffix", "anchor"),
    [(RST, ".rst", " {#options}"), (ADOC, ".adoc", " {#_options}"), (HTML, ".html", ""), (MARKDOWN, ".md", "")],
)
def test_options_are_entries_below_their_section_and_what_follows_is_the_sections(
    text: str, suffix: str, anchor: str, tmp_path: Path
) -> None:
    shown = as_read(text, tmp_path) if suffix == ".md" else converted(text, suffix)
    below = "".join(shown.replace("`-v, --verbose`", "`-v`, `--verbose`").partition("## Options")[1:])
    assert below == (OPTIONS + AFTER).format(id=anchor, c="`")


def test_words_with_what_they_mean_are_items(tmp_path: Path) -> None:
    shown = "# Words\n\n- Quay:\n  Where ships lie.\n\n  Also a pier.\n- Tug:\n  A ship.\n\nThat is all.\n"
    markdown = "# Words\n\nQuay\n: Where ships lie.\n\n    Also a pier.\n\nTug\n: A ship.\n\nThat is all.\n"
    quay = "<dt>Quay<dd><p>Where ships lie.</p><p>Also a pier.</p>"
    html = f"<h1>Words</h1><dl>{quay}<dt>Tug<dd>A ship.</dl><p>That is all."
    assert as_read(markdown, tmp_path) == shown
    assert converted(html, ".html") == shown


ARGUMENTS = ", ".join(f"argument_{n}" for n in range(12))


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        (
            "<h2>Modes</h2><dl><dt><code>--mode</code><dd>One of <dl><dt><code>on</code><dd>Yes.</dl></dl>"
            "<ul><li>See <dl><dt><code>x_y</code><dd>Z.</dl></ul>",
            "## Modes\n\n### `--mode`\n\nOne of\n\n- `on`:\n  Yes.\n\n## Modes\n\n- See\n\n  - `x_y`:\n    Z.\n",
        ),
        (f'<h1>API</h1><dl><dt class="sig" id="moor">moor({ARGUMENTS})<dd>Moor a ship.</dl>',
         f"# API\n\n## `moor` {{#moor}}\n\n`moor({ARGUMENTS})`\n\nMoor a ship.\n"),
        (
            "<h1>T</h1><dl><dd>Indented.</dd></dl><dl><dl><dt>Quay<dd>A pier.</dl></dl>"
            "<dl><dd>Of all.<dt><b>a_b</b><dd>B.</dl>",
            "# T\n\nIndented.\n\n- Quay:\n  A pier.\n\nOf all.\n\n## `a_b`\n\nB.\n",
        ),
    ],
    ids=["names within a list are items", "a long entry has a short heading", "what has no term is kept"],
)  # fmt: skip
def test_lists_of_html(html: str, shown: str) -> None:
    assert converted(html, ".html") == shown


def test_what_looks_like_a_definition_and_is_none_stays(tmp_path: Path) -> None:
    text = "A ship\n\n- one\n: two\n\n```\nx\n: y\n```\n\n| a |\n: b\n"
    assert as_read(text, tmp_path) == text


def test_a_table_of_contents_of_entries_without_ids_is_read() -> None:
    rst = "Guide\n=====\n\n.. contents::\n\n.. describe:: moor\n\n   Moor a ship.\n"
    assert converted(rst, ".rst") == "# Guide {#guide}\n\n## `moor`\n\nMoor a ship.\n"
