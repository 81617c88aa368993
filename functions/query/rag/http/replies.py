"""From an Answer or an error to the JSON that callers get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from knowledge.model.errors import (
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    IndexUnavailable,
    IndexUnreachable,
    KnowledgeError,
    SearchFailed,
)
from knowledge.model.values import Chunk, Hit
from knowledge.search.passage import ChunkView
from rag.answer.route import ConfidenceRouter
from rag.errors import (
    BadRequest,
    EmbeddingFailed,
    EmbeddingUnavailable,
    LlmFailed,
    LlmTooSlow,
    LlmUnavailable,
    RagError,
    StoreUnavailable,
)
from rag.http.citations_markdown import citations_markdown
from rag.http.reader_schema import ChunkReply, ClosestReply, FoundReply
from rag.http.schema import (
    CitationReply,
    ErrorReply,
    MetadataReply,
    QueryReply,
    QuestionReply,
    ReferenceReply,
    StatementReply,
)
from rag.text.addresses import source_url
from rag.values.answer import Answer, Citation, Reference
from rag.values.chat import Completion

RETRIEVAL_FAILED = "Pipeline error: Retrieval failed"
EMBEDDER_UNAVAILABLE = "Pipeline error: The embedding model cannot be reached"
LLM_FAILED = "Pipeline error: LLM request failed"
LLM_TOO_SLOW = f"{LLM_FAILED}: no text came in time. REQUEST_DEADLINE_S says how long it may take"
STORE_FAILED = "Feedback cannot be kept now"
UNEXPECTED = "Pipeline error: Unexpected failure"

_ALWAYS_TIMED = ("retrieval", "generation", "citation", "total")


def query_reply(answer: Answer) -> dict[str, Any]:
    """The body of ``POST /api/query``."""
    fields = {
        "answer": answer.text,
        "model_text": answer.model_text,
        "sources": answer.sources,
        "related_docs": answer.related_docs,
        "citations": [_citation(citation) for citation in answer.citations],
        "references": [_reference(reference) for reference in answer.references],
        "citations_markdown": citations_markdown(answer.citations),
        "confidence": answer.confidence,
        "refused": answer.refused,
        "partial": answer.partial,
        "routing": answer.routing,
        "response_id": answer.response_id,
        "session_id": answer.question.session_id,
        "metadata": _metadata(answer),
    }
    return QueryReply.model_validate(fields).model_dump(mode="json")


def rendered_reply(answer: Answer) -> dict[str, Any]:
    """The body of ``POST /api/query`` for a page: with the answer as nodes, and what came closest to a decline."""
    return {
        **query_reply(answer),
        "rendered": list(answer.nodes),
        "found": [_found(hit, answer.read) for hit in answer.found],
        "closest": [_closest(hit) for hit in answer.closest],
    }


def passage_reply(hit: Hit) -> dict[str, Any]:
    """A passage that is handed to the writer, as the event ``sources`` names it."""
    reference = _reference(Reference(n=0, hit=hit))
    return reference.model_dump(mode="json", include={"chunk_id", "title", "section", "url", "doc_id"})


def _reference(reference: Reference) -> ReferenceReply:
    chunk = reference.hit.chunk
    return ReferenceReply(
        **_place(chunk), n=reference.n, doc_id=chunk.doc_id, support=reference.support, quote=reference.quote
    )


def chunk_reply(view: ChunkView) -> dict[str, Any]:
    """The body of ``GET /api/chunks/{id}``."""
    fields = {
        **_place(view.chunk),
        "id": view.chunk.id,
        "text": view.chunk.text,
        "units": view.units,
        "matches": [{"start": word.start, "end": word.end, "weight": word.score} for word in view.matches],
    }
    return ChunkReply.model_validate(fields).model_dump(mode="json")


def rendered_chunk_reply(view: ChunkView, around: tuple[Chunk | None, Chunk | None]) -> dict[str, Any]:
    """The same for a page: with the Markdown of the chunk, and of the one before and after it, as nodes."""
    from rag.answer.parse import normalise_text, parse_markdown  # late: it brings markdown-it
    from rag.answer.printers import json_nodes

    before, shown, after = (
        json_nodes(parse_markdown(normalise_text(chunk.text)), lambda number: (number, "")) if chunk else []
        for chunk in (around[0], view.chunk, around[1])
    )
    return {**chunk_reply(view), "rendered": shown, "before": before, "after": after}


def question_reply(answer: Answer, *, debug: bool) -> dict[str, Any]:
    """The body of ``POST /v1/query``; ``debug`` fills ``metadata``."""
    fields = {
        "answer": answer.text,
        "sources": list(dict.fromkeys(hit.chunk.id for citation in answer.citations for hit in citation.hits)),
        "confidence": answer.confidence.score,
        "refused": answer.refused,
        "routing": answer.routing or ConfidenceRouter()(answer),
        "timing": timings_ms(answer),
        "metadata": _metadata(answer) if debug else {},
    }
    return QuestionReply.model_validate(fields).model_dump(mode="json")


def _closest(hit: Hit) -> dict[str, Any]:
    fields = {**_place(hit.chunk), "score": round(hit.score, 4)}
    return ClosestReply.model_validate(fields).model_dump(mode="json")


def _found(hit: Hit, read: tuple[int, ...]) -> dict[str, Any]:
    fields = {**_closest(hit), "docId": hit.chunk.doc_id, "read": hit.chunk.number in read}
    return FoundReply.model_validate(fields).model_dump(mode="json")


def _place(chunk: Chunk) -> dict[str, str]:
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
    fields = {
        "query": answer.question.text,
        "profile": answer.profile,
        "chunks_retrieved": answer.chunks_retrieved,
        "chunks_used": len(answer.citations),
        "latency_ms": round(answer.timings.get("total", 0.0), 2),
        "model": completion.model,
        "finish_reason": completion.finish_reason,
        "cached": answer.cached,
        "degraded": completion.degraded,
        "statements": [
            StatementReply(
                text=statement.text,
                citations=list(statement.citations),
                support=statement.support,
                score=statement.chance,
            )
            for statement in answer.statements
        ],
        "trail": answer.trail,
        "skipped": answer.skipped,
        "timings": timings_ms(answer),
        "usage": completion.usage,
    }
    return MetadataReply.model_validate(fields)


def timings_ms(answer: Answer) -> dict[str, float]:
    """The answer's timings as ``{"retrievalMs": 1.23, ...}``; the four main ones are always there."""
    timings = {**dict.fromkeys(_ALWAYS_TIMED, 0.0), **answer.timings}
    return {f"{slot}Ms": round(value, 2) for slot, value in timings.items()}


@dataclass(frozen=True, slots=True)
class Wording:
    """What an endpoint calls the question, and what it says where there is no index."""

    noun: str
    no_index: str


QUERY = Wording("Query", "No index is loaded. Run: ragctl ingest PATH")
CHAT = Wording("The last message of the user", QUERY.no_index)
QUESTION = Wording("Question", "Run /v1/ingest first")


def error_reply(error: Exception, wording: Wording = QUERY) -> dict[str, str]:
    """The body for ``error``: nothing internal, no vendor's words."""
    code = error.code if isinstance(error, RagError | KnowledgeError) else RagError.code
    return ErrorReply(error=_sentence(error, wording), code=code).model_dump()


def _sentence(error: Exception, wording: Wording) -> str:
    match error:
        case BadRequest():
            return error.sentence(wording.noun)
        case IndexUnavailable():
            return _no_index(error, wording)
        case EmbeddingUnavailable():
            return EMBEDDER_UNAVAILABLE
        case SearchFailed() | EmbeddingFailed():
            return RETRIEVAL_FAILED
        case LlmTooSlow():
            return LLM_TOO_SLOW
        case LlmFailed() | LlmUnavailable():
            return LLM_FAILED
        case StoreUnavailable():
            return STORE_FAILED
        case _:
            return UNEXPECTED


def _no_index(error: IndexUnavailable, wording: Wording) -> str:
    match error:
        case IndexMissing():
            return wording.no_index
        case IndexMismatch():
            return "The index was made for another embedding model or format. Run: ragctl ingest PATH"
        case IndexDamaged():
            return "The index is damaged. Run: ragctl ingest PATH"
        case IndexUnreachable():
            return "The documents cannot be reached just now. Ask again in a moment"
        case _:
            return "There is no room to open the index in"
