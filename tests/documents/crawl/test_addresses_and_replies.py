"""Web addresses: their one form, and which are refused before anything is sent; what a reply is taken for, and says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.crawl.addresses import InvalidAddress, WebOrigin, folder_path, normalise_url, page_name, parse_address
from documents.crawl.content import decode_text, file_suffix, read_links
from documents.crawl.robots import parse_directives
from documents.errors import Unreadable


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("HTTPS://Docs.Example.COM:443/a/./b/../c#part", "https://docs.example.com/a/c"),
        ("http://docs.example.com", "http://docs.example.com/"),
        ("http://docs.example.com.:8080/%7euser/", "http://docs.example.com:8080/%7euser/"),
        ("https://bücher.example/straße?q=ü b", "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC%20b"),
        ("https://[2606:2800::1]/x/..", "https://[2606:2800::1]/"),
        ("https://x.example/../../etc/passwd", "https://x.example/etc/passwd"),
    ],
)
def test_address_has_one_form(written: str, address: str) -> None:
    assert normalise_url(written) == address
    assert normalise_url(address) == address


@pytest.mark.parametrize(
    "written",
    [
        "ftp://x.example/",
        "docs.example.com/guide",
        "https://user:secret@x.example/",
        "https://x.example@evil.example/",
        "https://x.example:99999/",
        "https:///path",
        "https://[::1/",
        "https://a b.example/",
    ],
)
def test_address_that_cannot_be_read_is_refused_without_its_password(written: str) -> None:
    with pytest.raises(Unreadable, match="give the http or https address") as caught:
        parse_address(written)
    assert "secret" not in str(caught.value)


@given(path=st.text(), base=st.sampled_from(["https://x.example/a/b", "http://127.0.0.1:8000/"]))
def test_any_link_is_an_address_or_refused(path: str, base: str) -> None:
    try:
        address = normalise_url(path, base=base)
    except InvalidAddress:
        return
    assert address.isascii()
    assert normalise_url(address) == address
    name = page_name(address, ".html")
    assert name.endswith(".html")
    assert ".." not in name.split("/")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://x.example/", "/"),
        ("https://x.example/guide", "/guide/"),
        ("https://x.example/guide/index.html", "/guide/"),
        ("https://x.example/en/v1.2", "/en/v1.2/"),
        ("https://x.example/guide/install.html", None),
        ("https://x.example/guide?page=2", None),
    ],
)
def test_what_a_given_address_stands_for(url: str, path: str | None) -> None:
    assert folder_path(url) == path


def test_site_reads_its_http_links_over_https_and_no_other_port() -> None:
    site = WebOrigin.from_url("https://x.example/")
    assert site.match_url("http://x.example/a") == "https://x.example/a"
    assert site.match_url("https://x.example:8443/a") is None
    assert site.match_url("https://www.x.example/a") is None
    plain = WebOrigin.from_url("http://x.example:8000/")
    assert plain.match_url("https://x.example:8000/a") == "https://x.example:8000/a"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://x.example/guide/", "x.example/guide/index.html"),
        ("https://x.example/guide/install.htm", "x.example/guide/install.htm"),
        ("https://x.example/v1.2", "x.example/v1.2.html"),
        ("https://x.example/a?p=1", "x.example/a-791a7b3a.html"),  # one name a query
        ("https://x.example:81/%2e%2e/%2e%2e/a%00b", "x.example_81/__/__/a_b.html"),
    ],
)
def test_page_is_named_after_its_address(url: str, name: str) -> None:
    assert page_name(url, ".html") == name


# Replies


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
