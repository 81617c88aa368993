"""References, citations and sources of an answer's tree; citations that support nothing are dropped."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from knowledge.model.values import ChunkSupport, Claim, ClaimSupport, Hit
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.claims import AnswerClaim
from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.references import tidy_removal
from rag.answer.render import RenderedMarkdown
from rag.ports import OpenIndex
from rag.text.sources import is_http, source_urls
from rag.values.answer import CheckedClaim, Citation, Reference, ReferenceMark, RelatedDoc, Source, Support


def build_references(
    tree: t.Tree, hits: Mapping[int, Hit], claims: Sequence[CheckedClaim], quotes: Mapping[int, str]
) -> tuple[Reference, ...]:
    """Return the passages that ``tree`` cites, numbered in the order of its marks; ``quotes`` are parts of them."""
    references = []
    for n, number in enumerate(t.cited_chunks(tree), start=1):
        support = _merge_supports(claim.support for claim in claims if number in claim.chunks)
        references.append(Reference(n=n, hit=hits[number], support=support, quote=quotes.get(number, "")))
    return tuple(references)


def _merge_supports(supports: Iterable[Support | None]) -> Support | None:
    """Return the support on which all agree, partial if they differ, None if there is none."""
    known = set(supports) - {None}
    return known.pop() if len(known) == 1 else "partial" if known else None


def build_quotes(supports: Mapping[int, ChunkSupport], hits: Mapping[int, Hit]) -> dict[int, str]:
    """Return the part of each chunk that supports a claim best, as plain text."""
    spans = {number: hits[number].chunk.text[one.start : one.end] for number, one in supports.items()}
    return {number: t.plain_text(parse_markdown(normalise_text(text))) for number, text in spans.items()}


def build_citations(
    rendered: RenderedMarkdown, references: Sequence[Reference], form: CitationForm
) -> tuple[Citation, ...]:
    """Return a citation for each title, address or id, in the order of the answer, whose text is ``rendered``.

    Its passage is that of the first mark; ``also`` are the other references to the same source.
    """
    by_chunk = {one.hit.chunk.number: one for one in references}
    citations: dict[Hashable, Citation] = {}
    for start, end, cite in rendered.marks:
        reference = by_chunk[cite.chunk]
        hit, source = reference.hit, form.source_key(reference.hit)
        first = citations.setdefault(
            source,
            Citation(
                raw=rendered.text[start:end],
                title=cite.title,
                section=cite.section,
                position=start,
                hit=hit,
                source_urls=form.cited_urls(hit),
                chunk_id=hit.chunk.id if source == hit.chunk.number else None,
            ),
        )
        if hit not in first.hits:
            citations[source] = replace(first, also=(*first.also, hit))
    for source, one in citations.items():
        support = _merge_supports(by_chunk[hit.chunk.number].support for hit in one.hits)
        citations[source] = replace(one, support=support)
    return tuple(citations.values())


def build_marks(rendered: RenderedMarkdown, references: Sequence[Reference]) -> tuple[ReferenceMark, ...]:
    """Return the places of the marks in the answer's text, with their references."""
    numbers = {one.hit.chunk.number: one.n for one in references}
    return tuple(ReferenceMark(start, end, numbers[cite.chunk]) for start, end, cite in rendered.marks)


def build_sources(references: Sequence[Reference], form: CitationForm) -> tuple[Source, ...]:
    """Return the external addresses of the references, each once, in the order of the answer."""
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
    """Return each document of ``hits`` once, best first; ``categories`` renames folders, others stay."""
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


def drop_unused_citations(
    tree: t.Tree,
    claims: Sequence[AnswerClaim],
    supports: Sequence[ClaimSupport],
    index: OpenIndex,
    unchecked: Sequence[AnswerClaim],
) -> tuple[t.Tree, int]:
    """Return ``tree`` without unused citations, and the number of the writer's citations among them.

    A citation is unused if its passage does not support, even partly, any claim it is attached to, while another
    citation of the same claim does. The only citations of a claim stay, even without support. A citation outside of
    claims, as in a heading or a list of sources at the end, is compared with all claims; it stays if some claims are
    ``unchecked``. The citations of unchecked claims stay too. ``supports`` belong to ``claims`` by their place.
    """
    kept = {cite.place for claim in unchecked for cite in claim.explicit_cites}
    unused = dict[int, t.Cite]()
    for claim, support in zip(claims, supports, strict=True):
        here = {cite.place: cite for cite in _unused_of_claim(claim, support)}
        unused |= here
        kept |= {cite.place for cite in claim.explicit_cites} - here.keys()
    if not unchecked:
        explicit = (node for node in t.walk(tree) if isinstance(node, t.Cite) and node.is_explicit)
        orphaned = [cite for cite in explicit if cite.place not in kept | unused.keys()]
        unused |= {cite.place: cite for cite in _unused_of_all(orphaned, claims, index)}
    removed = unused.keys() - kept
    pruned = t.map_runs(tree, lambda run: _remove_cites(run, removed)) if removed else tree
    return pruned, sum(unused[place].is_explicit for place in removed)


def _unused_of_claim(claim: AnswerClaim, support: ClaimSupport) -> list[t.Cite]:
    explicit, by_overlap = claim.explicit_cites, [cite for cite in claim.cites if not cite.is_explicit]
    weak = [cite for cite in explicit if _best_chance(cite, support) < PARTIAL]
    best = max((one.chance for one in support.each), default=0.0)
    is_supported_jointly = _grade(support.cited or 0.0) > _grade(best)
    is_all = bool(claim.cites) and len(weak) == len(explicit)  # another passage takes their place, or none is better
    if is_supported_jointly or is_all:
        weak = []
    return [*weak, *(cite for cite in by_overlap if _best_chance(cite, support) < PARTIAL)]


def _unused_of_all(cites: Sequence[t.Cite], claims: Sequence[AnswerClaim], index: OpenIndex) -> list[t.Cite]:
    if not cites:
        return []
    chunks = dict.fromkeys(number for cite in cites for number in cite.candidates)
    supports = index.support([Claim(claim.plain) for claim in claims], list(chunks))
    return [cite for cite in cites if all(_best_chance(cite, support) < PARTIAL for support in supports)]


def _grade(chance: float) -> int:
    return (chance >= PARTIAL) + (chance >= SUPPORTED)


def _best_chance(cite: t.Cite, support: ClaimSupport) -> float:
    return max((one.chance for one in support.each if one.number in cite.candidates), default=0.0)


def _remove_cites(run: t.Run, places: Collection[int]) -> t.Run:
    done: list[t.Inline] = []
    rest = list(run)
    while rest:
        node = rest.pop(0)
        if isinstance(node, t.Styled | t.Link | t.ClaimSpan) and node.children:
            node = replace(node, children=_remove_cites(node.children, places))
            is_removed = not node.children
        else:
            is_removed = isinstance(node, t.Cite) and node.place in places
        if is_removed:
            tidy_removal(done, rest)
        else:
            done.append(node)
    return t.merge_text(done)
