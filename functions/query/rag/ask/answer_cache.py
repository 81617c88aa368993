"""The answer cache as a slot: look up, store and key answers."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from knowledge.embedding import question_text
from knowledge.model.values import Hit
from rag.ledger import Ledger
from rag.ports import LayeredAnswers
from rag.values.answer import Answer, CheckedClaim, Context
from rag.values.chat import Completion, LlmUse
from rag.values.question import Question, SearchQuery
from rag.values.request import PreparedQuestion
from rag.values.stored import ANSWER_TTL_S, CachedAnswer, CacheHit, quantise

RECIPE = 14
"""Raise it when the same parts give another answer: older answers are then not served."""


def freeze(answer: Answer, *, rests_on: tuple[Hit, ...], vector: bytes) -> CachedAnswer:
    """Return the storable part of ``answer``, which rests on the chunks ``rests_on``; ``vector`` is the question's.

    Fields of one request are left out, and the parts of chunks that only the writer needs.
    """
    completion = answer.completion
    stored = replace(
        answer,
        question=Question(text=""),
        response_id="",
        citations=tuple(replace(one, hit=_bare(one.hit), also=tuple(map(_bare, one.also))) for one in answer.citations),
        references=tuple(replace(one, hit=_bare(one.hit)) for one in answer.references),
        found=tuple(_bare(hit) for hit in answer.found),
        routing=None,
        completion=completion
        and Completion(text="", model=completion.model, finish_reason=completion.finish_reason, calls=0),
        llm=LlmUse(),
        cached=True,
        trail=(),
        skipped=(),
        events=(),
        timings={},
    )
    return CachedAnswer(answer=stored, chunk_ids=tuple(hit.chunk.id for hit in rests_on), vector=vector)


def thaw(stored: CachedAnswer, *, question: Question, response_id: str, trail: tuple[str, ...]) -> Answer:
    """Return the stored answer for another request; no model call is counted."""
    return replace(stored.answer, question=question, response_id=response_id, trail=trail)


def _bare(hit: Hit) -> Hit:
    return replace(hit, vector=None, match=None, chunk=replace(hit.chunk, text="", extra={}))


RECENT_NEGATIVE_S = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSlot:
    """Looks up and stores answers.

    ``scope`` returns everything beside question and documents that an answer depends on: profile, model and engine,
    prompt, tables, numbers; if any of it changes, older answers are not served. ``version`` returns the version of the
    index: an answer of another version is served if the same passages are found again (docs/adr/0030).

    An answer is stored if its confidence is Medium or High, or, where confidence is no chance (``Confidence.raw`` is
    None), if its top cosine (-1..1) is at least ``bar``. If its statements were checked, each must cite a passage and
    have some support, and one full support: an evasive answer has none. ``recent_negative`` returns whether votes since
    a moment bar a key; ``embed`` returns a question's unit vector; ``now`` returns Unix seconds. ``embed_ahead`` starts
    a remote embedder's call and returns at once, so that the embedder and the shared layer work at the same time.
    """

    store: LayeredAnswers
    scope: Callable[[], Mapping[str, object]]
    version: Callable[[], str]
    bar: float
    recent_negative: Callable[[str, float], bool]
    embed: Callable[[str], np.ndarray]
    now: Callable[[], float]
    embed_ahead: Callable[[str], None] | None = None

    def key(self, query: SearchQuery, question: Question) -> str:
        """Return the sha256 (hex) of the query and of everything else that its answer depends on.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        parts = {
            "question": question_key(query.text),
            "topK": query.top_k,
            "threshold": question.threshold,
            "where": query.where,
            "views": [(question_key(view.text), view.weight, view.where) for view in query.views],
            "scope": dict(self.scope()),
            **({"wording": question.wording} if question.wording else {}),
        }
        canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, key: str, query: SearchQuery) -> CacheHit | None:
        """Return the cached answer of ``query`` under its ``key``.

        Raises:
            StoreUnavailable: the cache cannot be read.
        """
        if hit := self.store.get_local(key):
            return hit
        if self.embed_ahead:
            self.embed_ahead(query.text)
        return self.store.get(key)

    def look_up(
        self, prepared: PreparedQuestion, retrieve: Callable[[PreparedQuestion], PreparedQuestion], ledger: Ledger
    ) -> PreparedQuestion:
        """Return ``prepared`` with the cached answer of its question, or with the passages that ``retrieve`` finds.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        key, version = self.key(prepared.query, prepared.question), self.version()
        prepared = replace(prepared, key=key, version=version)
        hit = ledger.optional("cache", lambda: self.get(key, prepared.query), None)
        if hit and hit.answer.version == version:
            return replace(prepared, cached=hit)
        found = retrieve(prepared)
        if hit is None or found.context is None or passages_digest(found.context) != hit.answer.passages:
            return found
        renewed = replace(hit, answer=replace(hit.answer, version=version))
        ledger.optional("cache", lambda: self.store.put(key, renewed.answer, ttl_s=hit.expires_at - self.now()), None)
        return replace(prepared, query=found.query, cached=renewed)

    def _disliked(self, key: str) -> bool:
        return self.recent_negative(key, self.now() - RECENT_NEGATIVE_S)

    def keep(self, prepared: PreparedQuestion, answer: Answer, rests_on: tuple[Hit, ...], *, top_score: float) -> bool:
        """Store ``answer``, which rests on the chunks ``rests_on``, if it is good enough; return whether it was.

        It was written from ``prepared``; ``top_score`` is the best plain cosine (-1..1) of the hits.

        Raises:
            StoreUnavailable: the cache cannot be written.
        """
        completion = answer.completion
        good = (
            completion is not None
            and not answer.refused
            and not completion.degraded
            and completion.finish_reason in {None, "stop"}
            and answer.citations != ()
            and _is_supported(answer.statements)
            and (answer.confidence.level != "Low" if answer.confidence.raw is not None else top_score >= self.bar)
        )
        key = prepared.key
        if not good or key is None or prepared.context is None or self._disliked(key):
            return False
        vector = quantise(self.embed(answer.question.understood))
        frozen = freeze(answer, rests_on=rests_on, vector=vector)
        stored = replace(frozen, version=prepared.version, passages=passages_digest(prepared.context))
        self.store.put(key, stored, ttl_s=ANSWER_TTL_S)
        if self._disliked(key):  # by a vote in between, which had nothing to evict yet
            self.store.evict(key)
            return False
        return True


def passages_digest(context: Context) -> str:
    """Return the sha256 (hex) of the passages in ``context``, as writers and readers see them, in any order."""
    chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.passages}
    shown = [(n, one.title, one.section, one.url, one.text) for n, one in sorted(chunks.items())]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _is_supported(statements: tuple[CheckedClaim, ...]) -> bool:
    supports = {one.support if one.citations else "unsupported" for one in statements}
    return not supports or ("supported" in supports and "unsupported" not in supports)


def question_key(text: str) -> str:
    """Return ``text`` in NFC and case-folded, white space collapsed, without final punctuation.

    Every other sign counts: "C++" is not "C", "-5" is not "5", "10\u00b2" is not "102". A key too many costs a search,
    a key too few a wrong answer.
    """
    return question_text(" ".join(unicodedata.normalize("NFC", text).casefold().split()))
