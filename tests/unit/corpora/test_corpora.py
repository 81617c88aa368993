"""What `make corpora` counts: the words and titles that others read, what is left over, and pages of a built site."""

from io import BytesIO
from pathlib import Path

import pytest
from corpora.measure import Corpus, find_leftovers, find_page, is_same_title, keep_source_words, list_pages, measure
from corpora.reference import read_file, read_page
from made_files import write_files
from openpyxl import Workbook


@pytest.mark.parametrize(
    ("suffix", "text", "titles", "seen"),
    [
        (".md", '---\ntitle: "Fees"\n---\nPay &copy; <b class="no">now</b>. <!-- no -->\n', ("Fees",), "pay now"),
        (".mdx", "import A from 'no'\n\n# Pay us\n\n{/* no */}\n", ("Pay us",), "pay us"),
        (".rst", "Fees\n====\n\n.. note:: Pay :ref:`here <no>`.\n", ("Fees",), "fees pay here"),
        (".adoc", "= Fees\n:no: no\n\nPay xref:no.adoc[here].\n", ("Fees",), "fees pay here"),
        (".html", "<title>Fees</title><nav>no</nav><main><h1>All fees</h1><p>Pay</p>here</main>", ("Fees", "All fees"),
         "all fees pay here"),
        (".md", "```html\n<!-- pay -->\n```\n{% comment %}no{% endcomment %}{% capture x %}here{% endcapture %}", (),
         "pay here"),
        (".ipynb", '{"cells": [{"cell_type": "markdown", "source": ["# Fees"]}, {"cell_type": "raw", "source": "no"}]}',
         ("Fees",), "fees"),
        (".csv", "fee;pay\n", (), "fee pay"),
    ],
)  # fmt: skip
def test_a_plain_reader_sees_words_and_a_title(suffix: str, text: str, titles: tuple[str, ...], seen: str) -> None:
    source = read_file(text.encode(), suffix)
    assert source is not None
    assert (source.titles, dict(source.words)) == (titles, dict.fromkeys(seen.split(), 1))


@pytest.mark.parametrize(
    ("path", "text", "kinds"),
    [
        ("a.md", "See [[page]] and `[[code]]`.", ["[[ ]]"]),
        ("a.md", "```\n{{ code }}\n```\n\n{{ value }}", ["{{", "{{"]),
        ("a.rst", "| a | b |\n| - | - |\n| :ref:`x` | `y` |", [":role:"]),
        ("a.adoc", "See xref:page.adoc[here].", ["macro:"]),
        ("a.pdf", "{{ value }}", []),
    ],
)
def test_markup_outside_of_code_is_left_over(path: str, text: str, kinds: list[str]) -> None:
    assert find_leftovers(text, path) == kinds


def test_a_built_page_is_found_by_address_and_has_the_words_of_its_source(tmp_path: Path) -> None:
    site = list_pages(write_files(tmp_path, {"a/index.html": "<main><h1>Fees</h1>Pay Next</main>"}))
    page = find_page(site, "https://x.test/docs/a/", "https://x.test/docs")
    assert page == tmp_path / "a" / "index.html"
    assert find_page(site, "https://x.test/docs/b", "https://x.test/docs") is None
    assert dict(keep_source_words(b"# Fees {#no}\n\nPay", read_page(page.read_bytes()))) == {"fees": 1, "pay": 1}


def test_titles_are_compared_without_marks() -> None:
    assert is_same_title("`pay()` & go", "Pay & Go¶")
    assert not is_same_title("Fees", "All fees")


def test_what_is_not_read_is_counted_as_lost(tmp_path: Path) -> None:
    included = "Pay:\n\n{!> ../a.py !}\n\n{!> ../b.py !}\n"
    binary = b"Pay us" + bytes(range(32)) * 9
    files: dict[str, str | bytes] = {
        "a.md": included,
        "b.md": binary,
        "c.doc": b"\xd0\xcf\x11\xe0",
        "d.png": "x",
        "mkdocs.yml": "{}",
    }
    figures = measure(Corpus(name="x", folder=write_files(tmp_path, files)))
    assert figures.unread == {".doc": 1, "included files": 2}
    assert len(figures.failed) == 1
    assert {path: dict(words) for path, words in figures.lost.items()} == {"b.md": {"pay": 1, "us": 1}}


def test_a_sheet_is_read_by_the_texts_of_its_visible_cells() -> None:
    book, saved = Workbook(), BytesIO()
    for row in (["Zone", "Fee", 4109], ["Zone", "low"]):
        book["Sheet"].append(row)
    book.create_sheet("no").append(["hidden"])
    book["no"].sheet_state = "hidden"
    book.save(saved)
    source = read_file(saved.getvalue(), ".xlsx")
    assert source is not None
    assert dict(source.words) == {"zone": 2, "fee": 1, "low": 1}
