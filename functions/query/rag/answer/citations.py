"""What an answer cites: its references by passage, and the citations that a profile makes of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from knowledge.model.claims import ChunkSupport
from knowledge.model.values import Hit
from rag.answer.citation_forms import CitationForm
from rag.answer.markdown import RenderedMarkdown
from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.printers import plain_text
from rag.answer.tree import Tree, cited_chunks
from rag.text.addresses import is_http, source_urls
from rag.values.answer import CheckedClaim, Citation, Reference, ReferenceMark, RelatedDoc, Source, Support


def references_of(
    tree: Tree,
    hits: Mapping[int, Hit],
    statements: Sequence[CheckedClaim] = (),
    quotes: Mapping[int, str] | None = None,
) -> tuple[Reference, ...]:
    """The passages that ``tree`` refers to, numbered in the order of its marks; ``quotes`` are words of them."""
    return tuple(
        Reference(n=n, hit=hits[number], support=_support_of(number, statements), quote=(quotes or {}).get(number, ""))
        for n, number in enumerate(cited_chunks(tree), start=1)
    )


def quotes_of(bearings: Mapping[int, ChunkSupport], hits: Mapping[int, Hit]) -> dict[int, str]:
    """The words of each chunk that bear a statement out best, without markup."""
    spans = {number: hits[number].chunk.text[one.start : one.end] for number, one in bearings.items() if number in hits}
    return {number: plain_text(parse_markdown(normalise_text(text))) for number, text in spans.items()}


def _support_of(chunk: int, statements: Sequence[CheckedClaim]) -> Support | None:
    """What the statements that cite ``chunk`` say of it: partial where they differ, None where there is none."""
    supports = {statement.support for statement in statements if chunk in statement.chunks}
    return supports.pop() if len(supports) == 1 else "partial" if supports else None


def citations_of(
    written: RenderedMarkdown, references: Sequence[Reference], form: CitationForm
) -> tuple[Citation, ...]:
    """One citation a title, address or id, in the order of the answer; ``written`` is its text.

    Its passage is the one of the first mark; ``also`` are the others of the same source that are referred to.
    """
    by_chunk = {one.hit.chunk.number: one for one in references}
    found: dict[Hashable, Citation] = {}
    supports: dict[Hashable, set[Support | None]] = {}
    for start, end, cite in written.marks:
        reference = by_chunk[cite.chunk]
        hit, source = reference.hit, form.source_key(reference.hit)
        first = found.setdefault(
            source,
            Citation(
                raw=written.text[start:end],
                title=cite.title,
                section=cite.section,
                position=start,
                hit=hit,
                source_urls=form.cited_urls(hit),
                chunk_id=form.chunk_id(hit),
            ),
        )
        if hit not in first.hits:
            found[source] = replace(first, also=(*first.also, hit))
        supports.setdefault(source, set()).add(reference.support)
    return tuple(replace(one, support=_joined(supports[source])) for source, one in found.items())


def _joined(supports: set[Support | None]) -> Support | None:
    known = supports - {None}
    return known.pop() if len(known) == 1 else "partial" if known else None


def marks_of(written: RenderedMarkdown, references: Sequence[Reference]) -> tuple[ReferenceMark, ...]:
    """Where ``written`` refers to which of ``references``."""
    numbers = {one.hit.chunk.number: one.n for one in references}
    return tuple(ReferenceMark(start, end, numbers[cite.chunk]) for start, end, cite in written.marks)


def build_sources(references: Sequence[Reference], form: CitationForm) -> tuple[Source, ...]:
    """One Source per external address that is referred to, each address once, in the order of the answer."""
    sources: dict[str, Source] = {}
    for reference in references:
        chunk = reference.hit.chunk
        for url in form.cited_urls(reference.hit):
            known = sources.setdefault(
                url, Source(title=chunk.title, org=chunk.source_org, url=url, section=chunk.section)
            )
            sources[url] = replace(known, references=(*known.references, reference.n))
    return tuple(sources.values())


def build_related_docs(hits: tuple[Hit, ...], categories: Mapping[str, str]) -> tuple[RelatedDoc, ...]:
    """Each document of ``hits`` once, best first; ``categories`` renames folders, others pass through."""
    related: dict[str, RelatedDoc] = {}
    for hit in hits:
        chunk = hit.chunk
        urls = (chunk.url,) if is_http(chunk.url) else source_urls(chunk)
        related.setdefault(
            chunk.doc_id or chunk.title,
            RelatedDoc(
                title=chunk.title,
                category=categories.get(chunk.category, chunk.category),
                doc_id=chunk.doc_id,
                url=urls[0] if urls else "",
            ),
        )
    return tuple(related.values())
