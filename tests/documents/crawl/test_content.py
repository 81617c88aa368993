"""What a reply is taken for, its text whatever charset it is said to have, and what its page says to robots."""

import pytest

from documents.crawl.content import decode_text, file_suffix, read_links
from documents.crawl.robots import parse_directives

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("body", "declared", "path", "suffix"),
    [
        (b"<p>x", "text/html", "a", ".html"),
        (b"\xef\xbb\xbf <!DOCTYPE html>", "application/octet-stream", "a", ".html"),
        (b"<html>Please log in", "application/pdf", "a.pdf", ".html"),
        (b"%PDF-1.4", "text/html", "a", ".pdf"),
        (b"PK\x03\x04..", WORD, "a", ".docx"),
        (b"PK\x03\x04..", "application/octet-stream", "a.xlsx", ".xlsx"),
        (b"PK\x03\x04..", "application/zip", "a.zip", None),
        (b"# Words", "text/plain", "a.md", ".md"),
        (b"Words", "text/prs.fallenstein.rst", "a.rst", ".rst"),
        (b"{}", "application/json", "a.ipynb", ".ipynb"),
        (b"{}", "application/json", "a.json", None),
        (b"plain words", "text/plain", "LICENSE", ".txt"),
        (b"\x89PNG\r\n\0", "text/html", "a", None),
        (b"body { }", "text/css", "a.css", None),
    ],
)
def test_kind(body: bytes, declared: str, path: str, suffix: str | None) -> None:
    assert file_suffix(body, declared, f"https://x.example/{path}") == suffix


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("naïve €".encode(), "iso-8859-1"),
        ("naïve €".encode("cp1252"), "iso-8859-1"),
        ("naïve €".encode("cp1252"), "utf-8"),
        ("naïve €".encode("utf-8-sig"), ""),
        ("naïve €".encode("utf-16"), "utf-8"),
        ('<meta charset="iso-8859-15">naïve €'.encode("iso-8859-15"), ""),
        ("naïve €".encode(), "no-such-charset"),
        ("naïve €".encode(), "hex"),
    ],
)
def test_text_survives_what_the_server_says_of_it(body: bytes, charset: str) -> None:
    assert decode_text(body, charset, is_html=True).endswith("naïve €")


URL = "https://docs.example.com/guide/"


def test_links_are_absolute_and_those_marked_nofollow_are_left_out() -> None:
    said = read_links(
        "<base href='/other/'><link rel=canonical href=/guide><meta name=Robots content='noindex'>"
        "<p><a href=a.html#part>A</a> <a rel='nofollow' href=b.html>B</a> <a href='mailto:x@example.com'>C</a>",
        URL,
    )
    assert said.links == ("https://docs.example.com/other/a.html",)
    assert said.canonical == "https://docs.example.com/guide"
    assert said.directives == {"noindex"}
    assert not said.is_redirect


@pytest.mark.parametrize("broken", ['<![ foo bar="" ]]>', "<!doctype html><![n", "<a " * 300_000, ""])
def test_a_broken_page_is_read_as_far_as_it_goes(broken: str) -> None:
    """Python's own parser raises for the first two, and takes an hour for the third."""
    assert read_links(f"<a href=first.html>A</a>{broken}", URL).links[:1] == (
        "https://docs.example.com/guide/first.html",
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["none"], {"none", "noindex", "nofollow"}),
        (["googlebot: noindex"], set()),
        (["googlebot: noindex, ragctl: nofollow"], {"nofollow"}),
        (["*: noindex"], {"noindex"}),
        (["max-snippet:20, noindex"], {"max-snippet", "noindex"}),
        ([""], {""}),
    ],
)
def test_words_for_this_robot(values: list[str], words: set[str]) -> None:
    assert parse_directives(values) == words
