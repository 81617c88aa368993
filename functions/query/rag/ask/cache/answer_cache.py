"""The answer cache as a slot: what is looked up, what may be stored, and under which key."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from knowledge.cut.embedding_text import question_text
from knowledge.model.values import Hit
from rag.ask.cache.frozen_answer import freeze
from rag.ledger import Ledger
from rag.ports.stores import LayeredAnswers
from rag.values.answer import Answer, CheckedClaim, Context
from rag.values.question import Question, SearchQuery
from rag.values.request import PreparedQuestion
from rag.values.stored import ANSWER_TTL_S, CacheHit, quantise

RECENT_NEGATIVE_S = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSlot:
    """Looks up and stores answers.

    ``scope`` gives everything beside question and documents that an answer depends on: profile, model and engine,
    prompt, tables, numbers; whatever of it changes, nothing old is served. ``version`` is that of the index's content:
    an answer of another one is served where the same passages are found again (docs/adr/0030).

    An answer is kept whose confidence is Medium or High; where that is no chance (``Confidence.raw`` is None), one with
    a top cosine (-1..1) of ``bar`` or more. Where its statements were checked, each must cite something and have some
    support, and one full support: what rewrites the question or evades it has none.
    ``recent_negative`` tells whether votes since a moment bar a key; ``embed`` gives a question's unit vector; ``now``
    gives Unix seconds. ``embed_ahead`` begins what ``embed`` will need and returns at once: where the embedder is
    remote, the question travels to it while the shared layer is asked.
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
        """The sha256 (hex) of the question as it is searched for and of all that its answer depends on.

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
        """What the cache has under ``key``, which is that of ``query``.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        if hit := self.store.get_local(key):
            return hit
        if self.embed_ahead:
            self.embed_ahead(query.text)
        return self.store.get(key)

    def answered(
        self, draft: PreparedQuestion, retrieved: Callable[[PreparedQuestion], PreparedQuestion], ledger: Ledger
    ) -> PreparedQuestion:
        """``draft`` with the answer that is kept for its question, else with what ``retrieved`` finds for it.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        key, version = self.key(draft.query, draft.question), self.version()
        draft = replace(draft, key=key, version=version)
        hit = ledger.optional("cache", partial(self.get, key, draft.query), None)
        if hit and hit.answer.version == version:
            return replace(draft, cached=hit)
        found = retrieved(draft)
        if hit is None or found.context is None or passages_digest(found.context) != hit.answer.passages:
            return found
        now = replace(hit, answer=replace(hit.answer, version=version))
        ledger.optional("cache", lambda: self.store.put(key, now.answer, ttl_s=hit.expires_at - self.now()), None)
        return replace(draft, query=found.query, cached=now)

    def _disliked(self, key: str) -> bool:
        return self.recent_negative(key, self.now() - RECENT_NEGATIVE_S)

    def keep(self, draft: PreparedQuestion, answer: Answer, rests_on: tuple[Hit, ...], *, top_score: float) -> bool:
        """Store ``answer``, which rests on the chunks ``rests_on``, if it is good enough; whether it was.

        ``draft`` is what it was written from, ``top_score`` the best plain cosine (-1..1) that was found for it.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        completion = answer.completion
        good = (
            completion is not None
            and not answer.refused
            and not completion.degraded
            and completion.finish_reason in {None, "stop"}
            and answer.citations != ()
            and _borne_out(answer.statements)
            and (answer.confidence.level != "Low" if answer.confidence.raw is not None else top_score >= self.bar)
        )
        key = draft.key
        if not good or key is None or draft.context is None or self._disliked(key):
            return False
        vector = quantise(self.embed(answer.question.understood))
        frozen = freeze(answer, rests_on=rests_on, vector=vector)
        kept = replace(frozen, version=draft.version, passages=passages_digest(draft.context))
        self.store.put(key, kept, ttl_s=ANSWER_TTL_S)
        if self._disliked(key):  # by a vote in between, which had nothing to evict yet
            self.store.evict(key)
            return False
        return True


def passages_digest(context: Context) -> str:
    """The sha256 (hex) of the passages in ``context``, as a writer and a reader see them, in whatever order."""
    chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.passages}
    shown = [(n, one.title, one.section, one.url, one.text) for n, one in sorted(chunks.items())]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _borne_out(statements: tuple[CheckedClaim, ...]) -> bool:
    supports = {one.support if one.citations else "unsupported" for one in statements}
    return not supports or ("supported" in supports and "unsupported" not in supports)


def question_key(text: str) -> str:
    """``text`` in NFC and case-folded, white space collapsed, without the punctuation that ends it.

    Every other sign counts: "C++" is not "C", "-5" is not "5", "10\u00b2" is not "102". What is kept apart for nothing
    costs a search, what is not a wrong answer.
    """
    return question_text(" ".join(unicodedata.normalize("NFC", text).casefold().split()))
