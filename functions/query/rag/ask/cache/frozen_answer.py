"""An Answer as what the cache keeps of it, and back."""

from __future__ import annotations

from dataclasses import replace

from knowledge.model.values import Hit
from rag.values.answer import Answer, Citation
from rag.values.chat import Completion, LlmUse
from rag.values.question import Question
from rag.values.stored import CachedAnswer

RECIPE = 14
"""Raise it when answers come out differently from the same parts (extraction, polishing, citing): nothing made before
is served then."""


def freeze(answer: Answer, *, rests_on: tuple[Hit, ...], vector: bytes) -> CachedAnswer:
    """What is kept of ``answer``, which rests on the chunks ``rests_on`` and was asked with ``vector``.

    Left out are what belongs to one request, and of the chunks what only the writer needs.
    """
    made = answer.completion
    kept = replace(
        answer,
        question=Question(text=""),
        response_id="",
        citations=tuple(_without_text(citation) for citation in answer.citations),
        references=tuple(replace(one, hit=_bare(one.hit)) for one in answer.references),
        found=tuple(_bare(hit) for hit in answer.found),
        routing=None,
        completion=Completion(text="", model=made.model, finish_reason=made.finish_reason, calls=0) if made else None,
        llm=LlmUse(),
        cached=True,
        trail=(),
        skipped=(),
        events=(),
        timings={},
    )
    return CachedAnswer(answer=kept, chunk_ids=tuple(hit.chunk.id for hit in rests_on), vector=vector)


def thaw(kept: CachedAnswer, *, question: Question, response_id: str, trail: tuple[str, ...]) -> Answer:
    """The answer that ``kept`` was made of, for another request: nobody wrote it anew, so no call is counted."""
    return replace(kept.answer, question=question, response_id=response_id, trail=trail)


def _without_text(citation: Citation) -> Citation:
    hit, *also = map(_bare, citation.hits)
    return replace(citation, hit=hit, also=tuple(also))


def _bare(hit: Hit) -> Hit:
    return replace(hit, vector=None, match=None, chunk=replace(hit.chunk, text="", extra={}))
