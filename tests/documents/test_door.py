"""What ``documents`` offers to whoever imports it."""

import subprocess
import sys
from pathlib import Path

import pytest
from made_files import write_files

import documents


def test_a_file_becomes_markdown_with_its_title_in_front(tmp_path: Path) -> None:
    page = tmp_path / "page.HTML"
    page.write_text("<html><head><title>Fees</title></head><body><h2>Berths</h2><p>Five a day.</p></body></html>")
    notes = tmp_path / "notes.md"
    notes.write_bytes("\ufeff# Notes\r\n\r\nA berth.\r\n".encode())
    assert documents.read(page).text == '---\ntitle: "Fees"\n---\n## Berths\n\nFive a day.\n'
    assert documents.read(notes) == documents.Converted("# Notes\n\nA berth.\n")


@pytest.mark.parametrize(
    ("name", "data", "error", "said"),
    [
        ("a.dwg", b"PK", documents.Unconvertible, r"has the suffix '\.dwg'; read are \.adoc, "),
        ("a.md", b"\xff\xfe\xfa", documents.Unreadable, r"is no text: 'utf-8' codec"),
        ("a.csv", b"\xff\xfe\xfa", documents.Unreadable, r"cannot be read as CSV: UnicodeDecodeError"),
        ("a.txt", b" \n", documents.NoText, "holds no text"),
        ("a.html", b"<p></p>", documents.NoText, "holds no text"),
        ("a.pdf", b"%PDF-1.4 nothing", documents.Unconvertible, "is damaged: none of its pages"),
    ],
)
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, data: bytes, error: type[documents.DocumentError], said: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(documents.DocumentError, match=said) as caught:
        documents.read(tmp_path / name)
    assert type(caught.value) is error


def test_a_page_of_a_site_is_read_as_its_reader_sees_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"mkdocs.yml": "site_name: Port\nsite_url: https://port.example/help\n", "docs/.keep": ""})
    docs = tmp_path / "docs"
    file = docs / "fees.md"
    text = "# Fees\n\n<!-- to do -->\n{{ page.title }} are due. {: .note }\n"

    site = documents.find_site(docs)

    assert (site.kind, site.base_url) == ("mkdocs", "https://port.example/help")
    shown = documents.clean_page(text, file=file, root=docs, site=site, meta={"title": "Fees"}).text
    assert " ".join(shown.split()) == "# Fees are due."
    assert documents.page_url(site, path="fees.md") == "https://port.example/help/fees/"


def test_importing_it_loads_no_converter_and_no_http_client() -> None:
    late = {"bs4", "docutils", "httpcore2", "lxml", "mammoth", "omml2latex", "openpyxl", "pdfplumber"}
    late |= {"pptx", "pypdf", "ruamel"}
    script = f"import sys, documents; print({late!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_plain_text_of_a_page_has_its_words_and_code_in_their_order(tmp_path: Path) -> None:
    text = "One <b>two</b> {{ x }}\n\n```py\nthree\n```\n\n[four](x.md)\n\n~~~\n<five>\n~~~\n"
    page = documents.clean_page(text, file=tmp_path / "a.md", root=tmp_path, site=documents.find_site(tmp_path))
    assert page.plain is not None
    assert page.plain.split() == ["One", "two", "three", "[four", "<five>"]
