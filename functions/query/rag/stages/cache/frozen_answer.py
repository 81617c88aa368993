"""An Answer as what the cache keeps of it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag.values.answer import Answer, Chunk, Citation, Completion, Confidence, Hit, Question, RelatedDoc, Source
from rag.values.stored import CachedAnswer

RECIPE = 5
"""Raise it when answers come out differently from the same parts (extraction, polishing, citing): nothing made before
is served then."""

_CITATION_FIELDS = ("raw", "title", "section", "position", "source_urls", "chunk_id", "support")
_TEXT_FIELDS = ("title", "section", "doc_id", "category", "source_org", "url", "path")


def freeze(answer: Answer, *, rests_on: tuple[Hit, ...], top_score: float, now: float, vector: bytes) -> CachedAnswer:
    """What is kept of ``answer``, which rests on the chunks ``rests_on`` and was asked with ``vector``."""
    completion = answer.completion
    parts = {
        "citations": [_citation_parts(citation) for citation in answer.citations],
        "sources": [asdict(source) for source in answer.sources],
        "related": [asdict(doc) for doc in answer.related_docs],
        "chunks": answer.chunks_retrieved,
        "finish": completion.finish_reason if completion else None,
    }
    return CachedAnswer(
        text=answer.text,
        parts=parts,
        confidence=answer.confidence,
        chunk_ids=tuple(hit.chunk.id for hit in rests_on),
        top_score=top_score,
        model=completion.model if completion else "",
        created_at=now,
        vector=vector,
    )


def thaw(kept: CachedAnswer, *, question: Question, profile: str, response_id: str, trail: tuple[str, ...]) -> Answer:
    """The answer that ``kept`` was made of, for another request: nobody wrote it anew, so no call is counted."""
    parts: Mapping[str, Any] = kept.parts
    return Answer(
        text=kept.text,
        question=question,
        profile=profile,
        response_id=response_id,
        confidence=Confidence(kept.confidence.level, kept.confidence.score, kept.confidence.reason),
        refused=False,
        citations=tuple(_citation(item) for item in parts["citations"]),
        sources=tuple(Source(**source) for source in parts["sources"]),
        related_docs=tuple(RelatedDoc(**doc) for doc in parts["related"]),
        chunks_retrieved=parts["chunks"],
        completion=Completion(text=kept.text, model=kept.model, finish_reason=parts["finish"], calls=0),
        cached=True,
        trail=trail,
    )


def _citation_parts(citation: Citation) -> dict[str, object]:
    said = {name: getattr(citation, name) for name in _CITATION_FIELDS}
    return {**said, "hits": [_hit_parts(hit) for hit in citation.hits]}


def _citation(item: Mapping[str, Any]) -> Citation:
    hit, *also = map(_hit, item["hits"])
    said = {name: item[name] for name in _CITATION_FIELDS}
    return Citation(**{**said, "source_urls": tuple(said["source_urls"])}, hit=hit, also=tuple(also))


def _hit_parts(hit: Hit) -> dict[str, object]:
    chunk = {name: getattr(hit.chunk, name) for name in _TEXT_FIELDS}
    return {"score": hit.score, "dense": hit.parts["dense"], "number": hit.chunk.number, "chunk": chunk}


def _hit(item: Mapping[str, Any]) -> Hit:
    chunk = Chunk(number=item["number"], text="", chunk_index=0, chunk_count=1, **item["chunk"])
    score = item["score"]
    return Hit(chunk=chunk, score=score, distance=1 - score, parts={"dense": item["dense"]})
