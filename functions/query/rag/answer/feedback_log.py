"""What is kept of a response so that a vote on it can teach, and the votes themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from knowledge.model.values import Hit
from rag.errors import UnknownResponse
from rag.ports.stores import AnswerCache, FeedbackStore
from rag.values.answer import Answer, Context
from rag.values.stored import ANONYMOUS, CacheHit, ResponseRecord, quantise


def grounds(answer: Answer, context: Context | None) -> tuple[Hit, ...]:
    """The chunks that ``answer`` rests on, best first: those that it cites, else all that its writer saw.

    A source that is cited may have several chunks: those that the answer draws on.

    What was found and not used has earned neither praise nor blame: were it moved together with what was used, a vote
    would change no order.
    """
    seen = tuple(passage.hit for passage in context.passages) if context else ()
    cited = {hit.chunk.number for citation in answer.citations for hit in citation.hits}
    return tuple(hit for hit in seen if hit.chunk.number in cited) or seen


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLog:
    """Keeps votes on answers.

    ``embed`` gives a question's unit vector in the index's own space; ``now`` gives Unix seconds; ``cache`` is where an
    answer that somebody votes against is evicted from.
    """

    store: FeedbackStore
    cache: AnswerCache | None
    embed: Callable[[str], np.ndarray]
    now: Callable[[], float]

    def record(
        self, answer: Answer, rests_on: tuple[Hit, ...], session: str | None, key: str | None, cached: CacheHit | None
    ) -> None:
        """Keep what a vote on ``answer`` must know: what it rests on, or what the cached answer was made of.

        ``key`` is the question's in the cache, None when it has none. ``session`` is the one that the caller named: one
        that this request began is nobody's yet.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        question = answer.question
        if cached:
            ids, vector = cached.answer.chunk_ids, cached.answer.vector
        else:
            ids = tuple(hit.chunk.id for hit in rests_on)
            vector = quantise(self.embed(question.understood)) if rests_on else b""
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
        """Let the voter's vote on a response be ``helpful``; None withdraws it.

        A vote of a session against it evicts the answer, and of the anonymous ones of an hour the first.

        Raises:
            UnknownResponse: there is no such response (any more).
            TooManyVotes: its session has sent as many as are taken.
            StoreUnavailable: the vote cannot be kept.
        """
        response = self.store.response(response_id)
        if response is None:
            raise UnknownResponse
        voter = response.voter
        first = self.store.vote(response, voter=voter, helpful=helpful, at=self.now(), comment=comment)
        if helpful is False and self.cache and (first or not voter.startswith(ANONYMOUS)):
            for key in response.cache_keys:
                self.cache.evict(key)
