"""rag.http.citations_markdown: a list of links to sources, whatever these are called."""

from urllib.parse import unquote

import pytest
from attacks.reading import BARE, leads, links
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.http.citations_markdown import citations_markdown, strip_invisible
from rag.text.sources import is_http, safe, source_urls
from rag.values.answer import Citation

NASTY = st.text(
    st.one_of(
        st.sampled_from("\\`*_{}[]()<>#+-.!|~&;:/@\"'=$^% \t\n\r\x0b\x0c\x00\x1f\x85\u2028\u2029\u200e\u202e\u2066"),
        st.sampled_from("\u200b\ufeff\u00ad\ud800aAzé1中\U000e0041"),
        st.characters(),
    ),
    max_size=40,
)
_PIECES = "https:// www.evil.example ](https://evil.example) ![x]( <b> &lt; 1. - a@b.example ]:"
PIECES = st.sampled_from([f"{one} " for one in _PIECES.split()] + _PIECES.split())
TITLES = st.lists(st.one_of(NASTY, PIECES), max_size=5).map("".join)


def cited(title: str, section: str = "", *urls: str) -> Citation:
    hit = make_hit(title=title, section=section, source_urls=urls)
    return Citation(raw="x", title="x", section="", position=0, hit=hit, source_urls=source_urls(hit.chunk))


def listed(title: str, section: str = "", *urls: str) -> str:
    return citations_markdown((cited(title, section, *urls),))


def test_sources_are_numbered_with_their_sections_and_an_internal_one_is_no_link() -> None:
    external, internal = (
        cited("Rates [2024]", "Zone [A]", "https://a.example/x"),
        cited("Carriers", "Permits > Fees", "N/A"),
    )
    assert citations_markdown((external, internal)) == (
        "1. [Rates (2024) > Zone (A)](https://a.example/x)\n2. Carriers > Permits > Fees *(Internal Document)*"
    )
    assert citations_markdown(()) == ""


@given(TITLES, TITLES)
def test_a_source_is_one_link_that_says_its_title(title: str, rest: str) -> None:
    address = f"https://a.example/{rest}"
    text = listed(title, "", address)
    if not is_http(address):
        assert links(text) == []
        return
    [(said, href)] = links(text)
    assert said == strip_invisible(safe(title))
    assert href.startswith("https://a.example/")
    assert set(leads(text)) == {("link_open", href)}
    assert (
        unquote(href, errors="replace")
        == unquote(f"https://a.example/{rest}".strip(), errors="replace").encode(errors="replace").decode()
    )


@given(TITLES, TITLES)
def test_an_internal_document_is_text(title: str, section: str) -> None:
    text = listed(title, section)
    # A renderer that looks for addresses when escapes are read finds none but the document's own.
    assert {kind for kind, _ in leads(text)} <= {"bare"}
    assert BARE.search(text) is None
    assert "\n" not in text


@given(TITLES)
def test_no_address_leads_elsewhere(address: str) -> None:
    assert set(leads(listed("Permits", "", address, f"javascript:{address}", f"data:{address}"))) <= {
        ("link_open", href) for _, href in links(listed("Permits", "", address)) if href.startswith("http")
    }


@pytest.mark.parametrize(
    ("title", "url", "line"),
    [
        ('Fees (2024) & "costs"', "https://a.example", '1. [Fees (2024) & "costs"](https://a.example)'),
        ("a\tb\nc\u202ed\u200b", "https://a.example", "1. [a b cd](https://a.example)"),
        ("Map<K, V>[]", 'https://a.example/x y(1)"', "1. [Map‹K, V›()](https://a.example/x%20y%281%29%22)"),
        ("T", "https://me:secret@a.example/?a=1&copy;=2\\", "1. [T](https://a.example/?a=1&amp;copy;=2%5C)"),
        ("T", "http://", "1. T *(Internal Document)*"),
        ("1. # snake_case www.a.example", "N/A", "1. 1\\. # snake\\_case www\\.a.example *(Internal Document)*"),
    ],
)
def test_what_it_looks_like(title: str, url: str, line: str) -> None:
    assert listed(title, "", url) == line
