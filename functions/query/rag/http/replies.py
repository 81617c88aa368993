"""Reply bodies built from answers and chunks, and the Markdown list of an answer's citations."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Any
from unicodedata import category

from knowledge.model.values import Chunk
from knowledge.search.passage import ChunkView
from rag.answer.confidence import ConfidenceRouter
from rag.http.schema import (
    ChunkReply,
    CitationReply,
    ClosestReply,
    FoundReply,
    MetadataReply,
    QueryReply,
    QuestionReply,
    ReferenceReply,
    RenderedChunkReply,
    RenderedReply,
)
from rag.text.sources import escape_url, is_http, make_label, source_url
from rag.values.answer import Answer, Citation, Reference
from rag.values.chat import Completion

# Markup within a line, and addresses of pages and of mail, which many renderers turn into links.
_MARKUP = re.compile(r"[\\`*_~<\[\]]|&(?=#?\w+;)|:(?=//)|(?<=www)\.|(?<=\S)@(?=\S)", re.IGNORECASE)
_BLOCK_MARKER = re.compile(r"([#+=>-]|\d+(?=[.)]))")
"""Starts a heading, list or quotation at a line's beginning."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")
"""Invisible too, but some scripts are spelt with them."""
_CLOSING = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D"})
"""Characters that would end a link's target early."""
_MARKERS = re.compile(r"^[ \t>*+-]*(?:\d{1,9}[.)](?=\s)|(?:`{3,}|~{3,})[ \t]*[\w+#.,=-]*$)", re.MULTILINE)
"""Numbers of items and the names of languages, which are no text."""
_ENTITY = re.compile(r"&(?=#?\w+;)")


def query_reply(answer: Answer) -> QueryReply:
    """Return the reply to ``POST /api/query``."""
    return QueryReply.model_validate(
        {
            "answer": answer.text,
            "model_text": answer.model_text,
            "sources": answer.sources,
            "related_docs": answer.related_docs,
            "citations": [_citation(citation) for citation in answer.citations],
            "references": [reference_reply(reference) for reference in answer.references],
            "citations_markdown": citations_markdown(answer.citations),
            "confidence": answer.confidence,
            "refused": answer.refused,
            "partial": answer.partial,
            "routing": answer.routing,
            "response_id": answer.response_id,
            "session_id": answer.question.session_id,
            "metadata": _metadata(answer),
        }
    )


def rendered_reply(answer: Answer) -> RenderedReply:
    """Return the reply to ``POST /api/query`` for a page: with the answer as nodes, and the hits behind it."""
    found = [
        FoundReply(
            **_chunk_fields(hit.chunk),
            doc_id=hit.chunk.doc_id,
            score=round(hit.score, 4),
            read=hit.chunk.number in answer.read,
        )
        for hit in answer.found
    ]
    closest = [ClosestReply(**_chunk_fields(hit.chunk), score=round(hit.score, 4)) for hit in answer.closest]
    return RenderedReply(**dict(query_reply(answer)), rendered=list(answer.nodes), found=found, closest=closest)


def question_reply(answer: Answer, *, debug: bool) -> QuestionReply:
    """Return the reply to ``POST /v1/query``; ``debug`` fills its ``metadata``."""
    return QuestionReply.model_validate(
        {
            "answer": answer.text,
            "sources": list(dict.fromkeys(hit.chunk.id for citation in answer.citations for hit in citation.hits)),
            "confidence": answer.confidence.score,
            "refused": answer.refused,
            "routing": answer.routing or ConfidenceRouter()(answer),
            "timing": timings_ms(answer),
            "metadata": _metadata(answer) if debug else {},
        }
    )


def chunk_reply(view: ChunkView) -> ChunkReply:
    """Return the reply to ``GET /api/chunks/{id}``."""
    chunk = view.chunk
    return ChunkReply.model_validate(
        {
            **_chunk_fields(chunk),
            "id": chunk.id,
            "text": chunk.text,
            "units": view.units,
            "matches": view.matches,
        }
    )


def passage_nodes(text: str) -> list[Any]:
    """Return a passage's Markdown as nodes that show each letter and digit of it: what a model was given.

    Where Markdown hides some, such as a cell too many in a table's row, all of the text is one block as it is.
    """
    from rag.answer.parse import normalise_text, parse_markdown  # late: it brings markdown-it
    from rag.answer.render import json_nodes

    def shown(node: Any) -> str:
        if isinstance(node, str):
            return node
        return "".join([*map(shown, node["children"]), node.get("href", "")])

    nodes = json_nodes(parse_markdown(normalise_text(text), literal=True), lambda number: (number, ""))
    written = Counter(filter(str.isalnum, unescape(_MARKERS.sub("", normalise_text(text)))))
    if written - Counter(filter(str.isalnum, "".join(map(shown, nodes)))):
        return [{"tag": "pre", "children": [{"tag": "code", "children": [text]}]}]
    return nodes


def rendered_chunk_reply(view: ChunkView, before: Chunk | None, after: Chunk | None) -> RenderedChunkReply:
    """Return the same for a page: with the Markdown of the chunk and of its neighbours as nodes."""
    nodes = {
        name: passage_nodes(chunk.text) if chunk else []
        for name, chunk in (("rendered", view.chunk), ("before", before), ("after", after))
    }
    return RenderedChunkReply.model_validate({**dict(chunk_reply(view)), **nodes})


def reference_reply(reference: Reference) -> ReferenceReply:
    """Return a passage that the answer cites, or, with the number 0, one that the writer gets."""
    chunk = reference.hit.chunk
    return ReferenceReply(
        **_chunk_fields(chunk),
        n=reference.n,
        doc_id=chunk.doc_id,
        support=reference.support,
        quote=reference.quote,
    )


def timings_ms(answer: Answer) -> dict[str, float]:
    """Return the answer's timings as ``{"retrievalMs": 1.23, ...}``; the four main ones are always there."""
    timings = {**dict.fromkeys(("retrieval", "generation", "citation", "total"), 0.0), **answer.timings}
    return {f"{slot}Ms": round(value, 2) for slot, value in timings.items()}


def _chunk_fields(chunk: Chunk) -> dict[str, str]:
    return {"chunk_id": chunk.id, "title": chunk.title, "section": chunk.section, "url": source_url(chunk)}


def _citation(citation: Citation) -> CitationReply:
    chunk = citation.hit.chunk
    return CitationReply(
        raw=citation.raw,
        title=citation.title,
        section=citation.section,
        position=citation.position,
        full_title=chunk.title,
        doc_id=chunk.doc_id,
        source_urls=list(citation.source_urls),
        score=round(citation.hit.score, 4),
        id=citation.chunk_id,
        chunk_id=chunk.id,
        support=citation.support,
    )


def _metadata(answer: Answer) -> MetadataReply:
    completion = answer.completion or Completion(text="", model="")
    return MetadataReply.model_validate(
        {
            "query": answer.question.text,
            "profile": answer.profile,
            "chunks_retrieved": answer.chunks_retrieved,
            "chunks_used": len(answer.citations),
            "latency_ms": round(answer.timings.get("total", 0.0), 2),
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            "cached": answer.cached,
            "degraded": completion.degraded,
            "statements": answer.statements,
            "trail": answer.trail,
            "skipped": answer.skipped,
            "timings": timings_ms(answer),
            "usage": completion.usage,
        }
    )


def citations_markdown(citations: tuple[Citation, ...]) -> str:
    """Return a numbered list of the citations: external ones as links, the others marked as internal."""
    lines = []
    for number, citation in enumerate(citations, start=1):
        label = make_label(citation.hit.chunk.title, citation.section or citation.hit.chunk.section)
        name = escape_markdown(strip_invisible(label[1:-1]))
        address = next(iter(citation.source_urls), "")
        if is_http(address):
            target = _ENTITY.sub("&amp;", escape_url(address).translate(_CLOSING))
            lines.append(f"{number}. [{name}]({target})")
        else:
            lines.append(f"{number}. {name} *(Internal Document)*")
    return "\n".join(lines)


def strip_invisible(text: str) -> str:
    """Return ``text`` on one line without invisible characters: controls, marks of direction, other formats."""
    visible = (
        " " if char.isspace() else char
        for char in text
        if char.isspace() or char in _JOINERS or category(char) not in _INVISIBLE
    )
    return " ".join("".join(visible).split())


def escape_markdown(text: str) -> str:
    """Return Markdown that shows ``text``, one line, and nothing else."""
    escaped = _MARKUP.sub(r"\\\g<0>", text)
    marker = _BLOCK_MARKER.match(escaped)
    if marker is None:
        return escaped
    place = marker.end() if marker[0].isdecimal() else 0
    return f"{escaped[:place]}\\{escaped[place:]}"
