"""rag.answer.references and rag.answer.citations: each mark opens one passage, and citations are made of these."""

from typing import Any

from fakes import make_hit

from knowledge.model.values import Hit
from rag.answer.citation_forms import CitationForm, IdForm, SourceForm, TitleForm
from rag.answer.citations import build_citations, build_marks, build_references, build_related_docs, build_sources
from rag.answer.render import render_markdown
from rag.answer.streaming_parser import parse_answer
from rag.profiles.waypoint import CATEGORIES
from rag.values.answer import CheckedClaim, Citation, Context, Passage, Reference, ReferenceMark, RelatedDoc, Source

FEES = make_hit("A permit costs ninety dollars.", number=4, section="Fees", source_urls=("N/A", "https://a.example"))
TIMES = make_hit("A permit takes five working days.", number=5, section="Times", source_urls=("https://a.example",))
TEA = make_hit("Tea is served at noon.", number=6, title="Tea", doc_id="tea")
HITS = (FEES, TIMES, TEA)
TITLES = TitleForm(0.5, 3)


def cited(
    answer: str, form: CitationForm = TITLES, **supports: Any
) -> tuple[tuple[Reference, ...], tuple[Citation, ...], tuple[ReferenceMark, ...]]:
    read = parse_answer(answer, form, Context("", tuple(Passage(hit=hit, citation="", text="") for hit in HITS)))
    statements = [
        CheckedClaim(text="s", citations=(), support=support, chance=0.5, chunks=(int(chunk[1:]),))
        for chunk, several in supports.items()
        for support in several
    ]
    written = render_markdown(read.tree)
    references = build_references(read.tree, {hit.chunk.number: hit for hit in HITS}, statements, {4: "ninety dollars"})
    return references, build_citations(written, references, form), build_marks(written, references)


def test_each_section_of_a_document_is_a_reference_and_the_document_is_one_citation() -> None:
    fees, times = "[Import permits > Fees]", "[Import permits > Times]"
    answer = f"Ninety {fees}. Five days {times}. Noon [Tea]. 90 {fees}."
    references, citations, marks = cited(answer)
    assert [(one.n, one.hit, one.quote) for one in references] == [
        (1, FEES, "ninety dollars"),
        (2, TIMES, ""),
        (3, TEA, ""),
    ]
    assert [answer[mark.start : mark.end] for mark in marks] == [fees, times, "[Tea]", fees]
    assert [mark.n for mark in marks] == [1, 2, 3, 1]
    assert [(one.raw, one.title, one.section, one.position, one.hits) for one in citations] == [
        (fees, "Import permits", "Fees", 7, (FEES, TIMES)),
        ("[Tea]", "Tea", "", answer.index("[Tea]"), (TEA,)),
    ]
    assert [one.source_urls for one in citations] == [("https://a.example",), ()]


def test_a_label_of_a_whole_document_opens_the_passage_that_says_it() -> None:
    answer = "A permit takes five days [Import permits]. It costs 90 dollars [import permit]."
    references, citations, marks = cited(answer)
    assert [one.hit for one in references] == [TIMES, FEES]
    assert [one.n for one in marks] == [1, 2]
    assert [one.hits for one in citations] == [(TIMES, FEES)]  # once, whatever the labels call it


def test_by_id_each_chunk_is_a_citation_and_by_address_each_page() -> None:
    _, citations, _ = cited("So [id_5, id_4]. And [id_5].", IdForm())
    assert [(one.chunk_id, one.raw) for one in citations] == [("id_5", "[id_5, id_4]"), ("id_4", "[id_5, id_4]")]
    _, citations, _ = cited("A permit costs ninety dollars (Source: https://a.example).", SourceForm(0.5))
    assert [(one.hit, one.source_urls) for one in citations] == [(FEES, ("https://a.example",))]


def test_support_is_that_of_the_statements_and_partial_where_they_differ() -> None:
    answer = "Ninety [Import permits > Fees]. Five days [Import permits > Times]. Noon [Tea]."
    references, citations, _ = cited(answer, _4=["supported"], _5=["supported", "unsupported"])
    assert [one.support for one in references] == ["supported", "partial", None]
    assert [one.support for one in citations] == ["partial", None]


def test_one_source_for_each_external_address_with_all_its_references() -> None:
    urls = ("https://a.example", "https://c.example")
    both = make_hit(number=7, title="Carriers", source_urls=urls, source_org="Port")
    references = tuple(Reference(n=n, hit=hit) for n, hit in enumerate((FEES, TEA, both), start=1))
    assert build_sources(references, TITLES) == (
        Source(title="Import permits", org="", url="https://a.example", section="Fees", references=(1, 3)),
        Source(title="Carriers", org="Port", url="https://c.example", section="", references=(3,)),
    )


def test_related_documents_once_each_best_first_with_the_seeds_categories() -> None:
    hits: tuple[Hit, ...] = (
        make_hit(doc_id="b", title="B", category="02_carriers", source_urls=("https://b.example",)),
        make_hit(doc_id="a", title="A", category="01_regulatory"),
        make_hit(doc_id="b", title="B", category="02_carriers"),
        make_hit(doc_id="", title="C", category="guides", url="https://c.example"),
        make_hit(doc_id="", title="D", category="04_internal_synthetic", source_urls=("N/A",)),
    )
    assert build_related_docs(hits, CATEGORIES) == (
        RelatedDoc(title="B", category="carrier", doc_id="b", url="https://b.example"),
        RelatedDoc(title="A", category="regulatory", doc_id="a", url=""),
        RelatedDoc(title="C", category="guides", doc_id="", url="https://c.example"),
        RelatedDoc(title="D", category="internal", doc_id="", url=""),
    )
