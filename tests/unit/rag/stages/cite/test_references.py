"""rag.stages.cite.references: sources, related documents."""

from __future__ import annotations

from typing import Any

from fakes import make_hit

from rag.profiles.waypoint import CATEGORIES
from rag.text.addresses import source_urls
from rag.stages.cite.references import build_related_docs, build_sources
from rag.values.answer import Citation, Hit, RelatedDoc, Source


def citation(hit: Hit, section: str = "") -> Citation:
    title = hit.chunk.title
    return Citation(
        raw=f"[{title}]", title=title, section=section, position=0, hit=hit, source_urls=source_urls(hit.chunk)
    )


def cite_chunk(section: str = "", **fields: Any) -> Citation:
    return citation(make_hit(**fields), section)


def test_one_source_for_each_address_in_the_order_of_the_answer() -> None:
    first = cite_chunk(source_urls=("https://a.example", "https://b.example"), source_org="Customs", section="Fees")
    second = cite_chunk(title="Carriers", source_urls=("https://b.example", "https://c.example"), source_org="Port")
    assert build_sources((first, second)) == (
        Source(title="Import permits", org="Customs", url="https://a.example", section="Fees"),
        Source(title="Import permits", org="Customs", url="https://b.example", section="Fees"),
        Source(title="Carriers", org="Port", url="https://c.example", section=""),
    )


def test_a_sources_section_is_the_chunks_when_the_label_names_none() -> None:
    found = build_sources((citation(make_hit(section="Times", source_urls=("https://a.example",))),))
    assert found[0].section == "Times"


def test_internal_documents_are_no_sources() -> None:
    assert build_sources((cite_chunk(source_urls=("N/A",)),)) == ()


def test_related_documents_once_each_best_first_with_the_seeds_categories() -> None:
    hits = (
        make_hit(doc_id="b", title="B", category="02_carriers", source_urls=("https://b.example",)),
        make_hit(doc_id="a", title="A", category="01_regulatory"),
        make_hit(doc_id="b", title="B", category="02_carriers"),
        make_hit(doc_id="c", title="C", category="03_reference", url="https://c.example"),
        make_hit(doc_id="d", title="D", category="04_internal_synthetic", source_urls=("N/A",)),
        make_hit(doc_id="e", title="E", category="guides"),
    )
    assert build_related_docs(hits, CATEGORIES) == (
        RelatedDoc(title="B", category="carrier", doc_id="b", url="https://b.example"),
        RelatedDoc(title="A", category="regulatory", doc_id="a", url=""),
        RelatedDoc(title="C", category="reference", doc_id="c", url="https://c.example"),
        RelatedDoc(title="D", category="internal", doc_id="d", url=""),
        RelatedDoc(title="E", category="guides", doc_id="e", url=""),
    )


def test_documents_without_an_id_are_told_apart_by_title() -> None:
    hits = (make_hit(doc_id="", title="A"), make_hit(doc_id="", title="B"), make_hit(doc_id="", title="A"))
    assert [doc.title for doc in build_related_docs(hits, {})] == ["A", "B"]
