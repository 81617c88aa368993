"""What is kept of a response so that a vote on it can teach, and the votes themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rag.errors import UnknownResponse
from rag.records import CachedAnswer, ResponseRecord, quantise
from rag.store_ports import AnswerCache, FeedbackStore
from rag.types import Answer, Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLog:
    """``embed`` gives a question's unit vector in the index's own space; ``now`` gives Unix seconds; ``cache`` is
    where an answer that somebody votes against is evicted from."""

    store: FeedbackStore
    cache: AnswerCache | None
    embed: Callable[[str], np.ndarray]
    now: Callable[[], float]

    def record(self, answer: Answer, hits: tuple[Hit, ...], key: str | None, cached: CachedAnswer | None) -> None:
        """Keep what a vote on ``answer`` must know; of an answer from the cache, what it was made of.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        question = answer.question
        ids = cached.chunk_ids if cached else tuple(hit.chunk.id for hit in hits)
        vector = cached.vector if cached else quantise(self.embed(question.meaning)) if hits else b""
        self.store.record(
            ResponseRecord(
                response_id=answer.response_id,
                question=question.meaning,
                chunk_ids=ids,
                profile=answer.profile,
                at=self.now(),
                vector=vector,
                session_id=question.session_id,
                cache_key=key,
            )
        )

    def vote(self, response_id: str, *, helpful: bool | None, comment: str | None) -> None:
        """Let the session's vote on a response be ``helpful``; None withdraws it. A vote against evicts the answer.

        Raises:
            UnknownResponse: there is no such response (any more).
            StoreUnavailable: the vote cannot be kept.
        """
        response = self.store.response(response_id)
        if response is None:
            raise UnknownResponse
        self.store.vote(response, voter=response.voter, helpful=helpful, at=self.now(), comment=comment)
        if helpful is False and response.cache_key and self.cache:
            self.cache.evict(response.cache_key)
