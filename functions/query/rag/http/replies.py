"""From an Answer, a health check or an error to the JSON that callers get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from knowledge.errors import IndexMismatch, IndexMissing, IndexUnavailable, KnowledgeError, SearchFailed
from rag.errors import (
    BadRequest,
    EmbeddingFailed,
    EmbeddingUnavailable,
    LlmFailed,
    LlmUnavailable,
    RagError,
    StoreUnavailable,
)
from rag.http.schema import (
    CitationReply,
    ConfidenceReply,
    ErrorReply,
    HealthReply,
    IndexHealth,
    LlmHealth,
    MetadataReply,
    QueryReply,
    QuestionReply,
    RelatedDocReply,
    RoutingReply,
    SourceReply,
    UsageReply,
)
from rag.stages.after.route import ConfidenceRouter
from rag.stages.cite.references import citations_markdown
from rag.values.answer import Answer, Citation, Routing
from rag.values.health import Health

RETRIEVAL_FAILED = "Pipeline error: Retrieval failed"
LLM_FAILED = "Pipeline error: LLM request failed"
STORE_FAILED = "Feedback cannot be kept now"
UNEXPECTED = "Pipeline error: Unexpected failure"

_ALWAYS_TIMED = ("retrieval", "generation", "citation", "total")


def query_reply(answer: Answer) -> dict[str, Any]:
    """The body of ``POST /api/query``."""
    reply = QueryReply(
        answer=answer.text,
        sources=[
            SourceReply(title=source.title, org=source.org, url=source.url, section=source.section or None)
            for source in answer.sources
        ],
        relatedDocs=[
            RelatedDocReply(title=doc.title, category=doc.category, docId=doc.doc_id, url=doc.url or None)
            for doc in answer.related_docs
        ],
        citations=[_citation(citation) for citation in answer.citations],
        citationsMarkdown=citations_markdown(answer.citations),
        confidence=ConfidenceReply(
            level=answer.confidence.level, score=answer.confidence.score, reason=answer.confidence.reason
        ),
        refused=answer.refused,
        routing=_routing(answer.routing) if answer.routing else None,
        responseId=answer.response_id,
        sessionId=answer.question.session_id,
        metadata=_metadata(answer),
    )
    return reply.model_dump(mode="json")


def question_reply(answer: Answer, *, debug: bool) -> dict[str, Any]:
    """The body of ``POST /v1/query``; ``debug`` fills ``metadata``."""
    reply = QuestionReply(
        answer=answer.text,
        sources=list(dict.fromkeys(hit.chunk.id for citation in answer.citations for hit in citation.hits)),
        confidence=answer.confidence.score,
        refused=answer.refused,
        routing=_routing(answer.routing or ConfidenceRouter()(answer)),
        timing=timings_ms(answer),
        metadata=_metadata(answer) if debug else {},
    )
    return reply.model_dump(mode="json")


def health_reply(health: Health) -> dict[str, Any]:
    """The body of ``GET /api/health``."""
    index, llm = health.index, health.llm
    reply = HealthReply(
        profile=health.profile,
        index=IndexHealth(
            documents=index.documents,
            chunks=index.chunks,
            embeddingModel=index.embedding_model,
            builtAt=index.built_at,
            version=index.version,
            manifest=index.has_manifest,
        ),
        llm=LlmHealth(engine=llm.engine, model=llm.model, lastError=llm.last_error),
    )
    return reply.model_dump(mode="json")


def _routing(routing: Routing) -> RoutingReply:
    return RoutingReply(action=routing.action, reason=routing.reason)


def _metadata(answer: Answer) -> MetadataReply:
    completion = answer.completion
    usage = completion.usage if completion else None
    return MetadataReply(
        query=answer.question.text,
        profile=answer.profile,
        chunksRetrieved=answer.chunks_retrieved,
        chunksUsed=len(answer.citations),
        latencyMs=round(answer.timings.get("total", 0.0), 2),
        model=completion.model if completion else None,
        finishReason=completion.finish_reason if completion else None,
        cached=answer.cached,
        degraded=completion.degraded if completion else False,
        trail=list(answer.trail),
        skipped=list(answer.skipped),
        timings=timings_ms(answer),
        usage=UsageReply(
            promptTokens=usage.prompt_tokens,
            completionTokens=usage.completion_tokens,
            totalTokens=usage.total_tokens,
        )
        if usage
        else None,
    )


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
QUESTION = Wording("Question", "Run /v1/ingest first")


def error_reply(error: Exception, wording: Wording = QUERY) -> dict[str, str]:
    """The body for ``error``: nothing internal, no vendor's words."""
    code = error.code if isinstance(error, RagError | KnowledgeError) else RagError.code
    return ErrorReply(error=_sentence(error, wording), code=code).model_dump()


def _sentence(error: Exception, wording: Wording) -> str:
    match error:
        case BadRequest():
            return error.sentence(wording.noun)
        case IndexMissing():
            return wording.no_index
        case IndexMismatch():
            return "The index was made for another embedding model or format. Run: ragctl ingest PATH"
        case IndexUnavailable():
            return "The index is damaged. Run: ragctl ingest PATH"
        case SearchFailed() | EmbeddingFailed() | EmbeddingUnavailable():
            return RETRIEVAL_FAILED
        case LlmFailed() | LlmUnavailable():
            return LLM_FAILED
        case StoreUnavailable():
            return STORE_FAILED
        case _:
            return UNEXPECTED


def _citation(citation: Citation) -> CitationReply:
    chunk = citation.hit.chunk
    return CitationReply(
        raw=citation.raw,
        title=citation.title,
        section=citation.section or None,
        position=citation.position,
        fullTitle=chunk.title,
        docId=chunk.doc_id,
        sourceUrls=list(citation.source_urls),
        score=round(citation.hit.score, 4),
        id=citation.chunk_id,
        support=citation.support,
    )
