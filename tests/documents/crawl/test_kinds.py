"""What a reply is taken for, whatever it is called; and its text whatever charset it is said to have."""

from __future__ import annotations

import pytest

from documents.crawl import kinds

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
    assert kinds.suffix(body, declared, f"https://x.example/{path}") == suffix


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
    assert kinds.as_text(body, charset, is_html=True).endswith("naïve €")
