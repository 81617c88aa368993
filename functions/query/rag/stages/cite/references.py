"""What a reader can open: the sources that the answer cites, the documents that retrieval found."""

from __future__ import annotations

from collections.abc import Mapping

from rag.stages.cite.addresses import is_http, source_urls
from rag.values.answer import Citation, Hit, RelatedDoc, Source


def build_sources(citations: tuple[Citation, ...]) -> tuple[Source, ...]:
    """One Source per external address of the citations, each address once, in the order of the answer."""
    sources: dict[str, Source] = {}
    for citation in citations:
        chunk = citation.hit.chunk
        for url in citation.source_urls:
            sources.setdefault(
                url, Source(title=chunk.title, org=chunk.source_org, url=url, section=citation.section or chunk.section)
            )
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
