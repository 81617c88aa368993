"""The feedback log: records of responses that votes refer to, and the votes themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from knowledge.model.values import Hit
from rag.errors import UnknownResponse
from rag.ports import AnswerCache, FeedbackStore
from rag.values.answer import Answer, Context
from rag.values.stored import ANONYMOUS, CacheHit, ResponseRecord, quantise


def select_grounds(answer: Answer, context: Context | None) -> tuple[Hit, ...]:
    """Return the hits that ``answer`` is based on, best first: those that it cites, else all that its writer saw.

    Of a cited source these are all chunks that the answer cites. A vote on unused hits too would change no order: it
    would move them together with the used ones.
    """
    seen = tuple(passage.hit for passage in context.passages) if context else ()
    cited = {hit.chunk.number for citation in answer.citations for hit in citation.hits}
    return tuple(hit for hit in seen if hit.chunk.number in cited) or seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLog:
    """Keeps responses and votes in ``store``.

    ``embed`` returns a question's unit vector in the index's space; ``now`` returns Unix seconds. A vote against an
    answer evicts it from ``cache``.
    """

    store: FeedbackStore
    cache: AnswerCache | None
    embed: Callable[[str], np.ndarray]
    now: Callable[[], float]

    def record(
        self, answer: Answer, grounds: tuple[Hit, ...], session: str | None, key: str | None, cached: CacheHit | None
    ) -> None:
        """Keep a record of ``answer`` with its ``grounds``, or with the ``cached`` answer's.

        ``key`` is the question's cache key, None if there is none. ``session`` is the caller's own id; the id of a
        session that begins with this request belongs to no caller yet.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        question = answer.question
        if cached:
            ids, vector = cached.answer.chunk_ids, cached.answer.vector
        else:
            ids = tuple(hit.chunk.id for hit in grounds)
            vector = quantise(self.embed(question.understood)) if grounds else b""
        self.store.record(
            ResponseRecord(
                response_id=answer.response_id,
                question=question.understood,
                chunk_ids=ids,
                profile=answer.profile,
                at=self.now(),
                vector=vector,
                session_id=session,
                cache_keys=(key,) if key else (),
                began=None if session else question.session_id,
            )
        )

    def vote(self, response_id: str, *, helpful: bool | None, comment: str | None) -> None:
        """Set the voter's vote on a response; ``helpful`` None withdraws it.

        A vote of a session against an answer evicts it; of the anonymous votes of an hour only the first does.

        Raises:
            UnknownResponse: there is no such response (any more).
            TooManyVotes: its session has reached the limit.
            StoreUnavailable: the vote cannot be kept.
        """
        response = self.store.response(response_id)
        if response is None:
            raise UnknownResponse
        voter = response.voter
        is_first = self.store.vote(response, voter=voter, helpful=helpful, at=self.now(), comment=comment)
        if helpful is False and self.cache and (is_first or not voter.startswith(ANONYMOUS)):
            for key in response.cache_keys:
                self.cache.evict(key)
