"""rag.stages.cite.by_title: which chunk does a label in the answer mean?"""

from __future__ import annotations

import pytest
from fakes import make_chunk, make_hit
from hypothesis import given
from hypothesis import strategies as st

from rag.http.citations_markdown import citations_markdown
from rag.text.addresses import is_http, source_urls
from rag.stages.cite.by_title import TitleCiter
from rag.text.labels import make_label, safe
from rag.values.answer import Hit

cite = TitleCiter(min_dice=0.5, min_contained=3)


def hits_titled(*titles: str) -> tuple[Hit, ...]:
    return tuple(make_hit(number=n, title=title, doc_id=f"doc{n}") for n, title in enumerate(titles, start=1))


def cited(answer: str, hits: tuple[Hit, ...]) -> list[int]:
    return [citation.hit.chunk.number for citation in cite(answer, hits).citations]


def test_equal_titles_win_over_contained_ones_whatever_the_order() -> None:
    hits = hits_titled("Import permits for plants", "IMPORT PERMITS")
    assert cited("See [Import permits].", hits) == [2]


def test_contained_titles_win_over_similar_ones() -> None:
    hits = hits_titled("Imports permit", "Guide: Import permits of Singapore")
    assert cited("See [Import permits].", hits) == [2]


def test_either_title_may_hold_the_other() -> None:
    assert cited("[Import permits of Singapore, 2024]", hits_titled("Import permits")) == [1]
    assert cited("[permits]", hits_titled("Import permits")) == [1]


@pytest.mark.parametrize("label", ["[1]", "[im]", "[a]"])
def test_a_title_under_three_characters_is_not_looked_for_inside_others(label: str) -> None:
    assert cited(label, hits_titled("Import permits 1 a")) == []


@pytest.mark.parametrize("label", ["[Enter]", "[ata Center]", "[access data]"])
def test_a_title_is_contained_from_the_start_of_a_word_on(label: str) -> None:
    assert cited(label, hits_titled("Data Center Access Rules for Visitors")) == []
    assert cited("[Center access]", hits_titled("Data Center Access Rules for Visitors")) == [1]
    assert cited("[许可证]", hits_titled("进口许可证指南与费用一览表")) == [1]  # no spaces between words there


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("[Import Permit]", "Singapore Import Permits and TradeNet"),
        ("[reef]", "Reefer cargo"),
        ("[Strategic Good]", "Handling of strategic goods and dual-use items"),
        ("[Warehouse > Rent]", "Rules for bonded warehouses in the free trade zone"),
        ("[Manifest deadlines, the complete handbook for shippers]", "Manifest deadline"),
    ],
)
def test_a_contained_title_may_end_within_a_word(label: str, title: str) -> None:
    assert cited(f"You need one {label}.", hits_titled(title)) == [1]


def test_a_number_is_contained_as_a_whole() -> None:
    hits = hits_titled(
        "Circular 150 on the registration of warehouses", "Circular 15 on the registration of warehouses"
    )
    assert cited("[Circular 15]", hits) == [2]
    assert cited("[Circular 15]", hits[:1]) == []


def test_three_characters_are_enough() -> None:
    assert cited("[GST]", hits_titled("The GST guide")) == [1]


def test_similar_titles_match_over_one_half_only() -> None:
    # night / nacht: .25. abcd / abce: bigrams ab, bc, cd / ab, bc, ce: 2 * 2 / 6 = .67. abcx / abyz: 2 * 1 / 6.
    assert cited("[nacht]", hits_titled("night")) == []
    assert cited("[abce]", hits_titled("abcd")) == [1]
    # Exactly one half is not over one half: abc / abd share ab of two bigrams each.
    assert cited("[abd]", hits_titled("abc")) == []


def test_the_first_hit_of_a_tier_is_taken() -> None:
    assert cited("[Import permits]", hits_titled("Export", "Import permits", "Import permits")) == [2]


def test_the_chunk_of_the_cited_section_is_preferred_within_the_title() -> None:
    hits = (
        make_hit(number=1, section="Fees"),
        make_hit(number=2, section="Permits > Strategic goods"),
        make_hit(number=3, section="Times"),
    )
    assert cited("[Import permits > Times]", hits) == [3]
    assert cited("[Import permits > Permits > Strategic goods]", hits) == [2]
    assert cited("[Import permits > strategic goods]", hits) == [2]
    assert cited("[Import permits > Unheard of]", hits) == [1]
    assert cited("[Import permits]", hits) == [1]


def test_a_section_never_leads_to_another_title() -> None:
    hits = (make_hit(number=1, title="Export", section="Fees"), make_hit(number=2, section="Times"))
    assert cited("[Import permits > Fees]", hits) == [2]


def test_citations_come_in_the_order_of_the_answer_once_a_title_and_unmatched_ones_are_left_out() -> None:
    hits = hits_titled("Import permits", "Carriers")
    answer = "A [Carriers]. B [Nowhere]. C [Import permits > Fees]. D [carriers > X]."
    found = cite(answer, hits).citations
    assert [(c.raw, c.title, c.section, c.position, c.hit) for c in found] == [
        ("[Carriers]", "Carriers", "", 2, hits[1]),
        ("[Import permits]", "Import permits", "", 19, hits[0]),
    ]


@pytest.mark.parametrize(
    ("answer", "raw"),
    [
        (
            "Apply [Singapore Import Permits and TradeNet > Fees]. Wait [Import Permits and TradeNet].",
            ["[Singapore Import Permits and TradeNet]"],
        ),
        ("[Singapore] [TradeNet]", ["[Singapore]"]),
        (
            "[Import permit]. Noon [Carrier calls]. [SINGAPORE IMPORT PERMITS AND TRADENET > Fees] [Carriers' calls]",
            ["[Import permit]", "[Carrier calls]"],
        ),
    ],
)
def test_a_document_is_cited_once_whatever_the_labels_call_it(answer: str, raw: list[str]) -> None:
    found = cite(answer, hits_titled("Singapore Import Permits and TradeNet", "Carrier calls at the port")).citations
    assert [citation.raw for citation in found] == raw
    assert citations_markdown(found).count("\n") == len(raw) - 1


def test_documents_of_one_title_are_one_citation_however_it_is_written() -> None:
    hits = (make_hit(number=1, doc_id="a", section="Fees"), make_hit(number=2, doc_id="b", section="Times"))
    assert cited("[Import permits > Times]. [Import permits > Fees].", hits) == [2]
    assert cited("[Import permits > Times]. [Import permit > Fees].", hits) == [2]


def test_full_width_brackets_cite_too() -> None:
    assert cited("Five days【Import permits > Times】.", hits_titled("Import permits")) == [1]


@pytest.mark.parametrize(
    ("answer", "text", "removed", "numbers"),
    [
        ("Five days [Import permits]. Noon [Nowhere].", "Five days [Import permits]. Noon.", 1, [1]),
        ("Noon ([Customs Act > Fees], [Nowhere]).", "Noon.", 2, []),
        # Several in one bracket, of which one was made up.
        ("So [Import permits > Fees; Carriers].", "So [Import permits > Fees; Carriers].", 0, [1, 2]),
        ("So [Import permits; Nowhere] it is.", "So [Import permits] it is.", 1, [1]),
        ("So \uff3bCarriers\uff3d and \u3010Nowhere\u3011.", "So \uff3bCarriers\uff3d and.", 1, [2]),
        # An invented section is not shown.
        ("Free [Carriers > Unheard of].", "Free [Carriers].", 0, [2]),
        # Grammar alone is no title, and what is no citation by its form stays.
        ("Apply [and] wait.", "Apply wait.", 1, []),
        (
            "- [ ] a list[str], [the guide](https://a.example)[^1]",
            "- [ ] a list[str], [the guide](https://a.example)[^1]",
            0,
            [],
        ),
        ("Run `cp [OPTIONS]`:\n```\n[Nowhere]\n```", "Run `cp [OPTIONS]`:\n```\n[Nowhere]\n```", 0, []),
    ],
)
def test_invented_labels_go_as_marks(answer: str, text: str, removed: int, numbers: list[int]) -> None:
    hits = (
        make_hit(number=1, title="Import permits and fees", section="Fees"),
        make_hit(number=1, title="Import permits", section="Fees"),
        make_hit(number=2, title="Carriers", section="Times"),
    )
    found = cite(answer, hits)
    assert (found.text, found.removed) == (text, removed)
    assert [citation.hit.chunk.number for citation in found.citations] == numbers
    assert all(found.text.startswith(citation.raw, citation.position) for citation in found.citations)


def test_no_hits_no_citations() -> None:
    assert cite("See [Import permits].", ()).citations == ()


TITLES = st.text("ab >[]", min_size=1, max_size=12).map(lambda text: f"T{text}")
SECTIONS = st.lists(st.sampled_from(["Fees", "Over >30kg", "A>B", "[x]", "Times"]), max_size=2).map(" > ".join)


@given(st.lists(st.tuples(TITLES, SECTIONS), min_size=1, max_size=5, unique_by=lambda pair: safe(pair[0]).casefold()))
def test_a_packed_label_cites_its_own_chunk(pairs: list[tuple[str, str]]) -> None:
    hits = tuple(make_hit(number=n, title=title, section=section) for n, (title, section) in enumerate(pairs))
    for hit in hits:
        (citation,) = cite(f"Text {make_label(hit.chunk.title, hit.chunk.section)}.", hits).citations
        assert citation.hit is hit


@given(st.lists(SECTIONS, min_size=1, max_size=5, unique=True))
def test_a_packed_label_cites_its_own_section(sections: list[str]) -> None:
    hits = tuple(make_hit(number=n, section=section) for n, section in enumerate(sections))
    for hit in hits:
        if hit.chunk.section:
            (citation,) = cite(make_label(hit.chunk.title, hit.chunk.section), hits).citations
            assert citation.hit is hit


@pytest.mark.parametrize(
    ("urls", "url", "expected"),
    [
        (("https://a.example", "N/A", "http://b.example"), "", ("https://a.example", "http://b.example")),
        (("N/A",), "", ()),
        (("n/a", "", "internal", "ftp://a.example"), "", ()),
        (("HTTPS://A.example",), "", ("HTTPS://A.example",)),
        (("https://a.example", "https://a.example"), "", ("https://a.example",)),
        ((), "https://own.example/page", ("https://own.example/page",)),
        ((), "page.html", ()),
        (("https://a.example",), "https://own.example", ("https://a.example",)),
    ],
)
def test_source_urls(urls: tuple[str, ...], url: str, expected: tuple[str, ...]) -> None:
    assert source_urls(make_chunk(source_urls=urls, url=url)) == expected


def test_a_citation_carries_its_chunks_addresses() -> None:
    hit = make_hit(source_urls=("N/A", "https://a.example"))
    (citation,) = cite("[Import permits]", (hit,)).citations
    assert citation.source_urls == ("https://a.example",)


@pytest.mark.parametrize("url", ["N/A", "", "javascript:alert(1)", "//a.example", "https:/a.example", "mailto:a@b.c"])
def test_not_an_address_to_open(url: str) -> None:
    assert not is_http(url)
