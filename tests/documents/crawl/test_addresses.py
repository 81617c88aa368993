"""Web addresses: one form, what they stand for, and which are refused before anything is sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.crawl.addresses import InvalidAddress, WebOrigin, folder_path, normalise_url, page_name, parse_address
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
