"""What is kept of questions: answers, conversations and votes.

The methods of stores may raise ``StoreUnavailable``. Their reads see every write that came before them, in any process
(an L1 cache may lag by the age that it allows), and nothing that has expired. They serve any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rag.values.question import Turn
from rag.values.stored import CachedAnswer, CacheHit, ErasedCounts, ResponseRecord, Vote


class AnswerCache(Protocol):
    """Answers by key. A key is the sha256 (hex) of everything that the answer depends on."""

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        ...

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds in place of what was there; one that is too large is not kept."""
        ...

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        ...


class LayeredAnswers(AnswerCache, Protocol):
    """An answer cache that keeps some of its answers in this process."""

    def held(self, key: str) -> CacheHit | None:
        """The answer under ``key`` if this process has it; asks nobody and raises nothing."""
        ...


class Memory(Protocol):
    """The turns of conversations. A session's id is all that opens it."""

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``; overlong texts are cut."""
        ...

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns (at most ``MAX_TURNS``), oldest first by ``at``, then by arrival."""
        ...


class FeedbackStore(Protocol):
    """Responses that can be voted on, and the votes."""

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response`` for 30 days."""
        ...

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id; None for any other text."""
        ...

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Let ``voter``'s vote on ``response`` be ``helpful``; None withdraws it.

        All or nothing, and idempotent. The vote with the latest ``at`` stands, whatever order they arrive in; of two
        at one moment the one that arrives last. Whether ``voter`` had no vote yet that was against or withdrawn.
        TooManyVotes where the response's ``session`` has given as many as are taken within an hour.
        """
        ...

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk; a chunk without any is left out.

        Of each voter the newest ``MAX_VOTES_PER_VOTER`` (when one is withdrawn, the one before takes its place), of
        all at most ``MAX_VOTES_PER_CHUNK``. Which of them count as one voice is the caller's to say.
        """
        ...

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether votes against responses of this cache key stand that were given at ``since`` or later.

        One of a session does, or those of anonymous voters on responses of ``HOURS_AGAINST`` different hours.
        """
        ...


class Store(Protocol):
    """One table, file or server that keeps all three. Nothing is connected before the first use."""

    @property
    def cache(self) -> AnswerCache:
        """Its answers."""
        ...

    @property
    def memory(self) -> Memory:
        """Its conversations."""
        ...

    @property
    def feedback(self) -> FeedbackStore:
        """Its responses and votes."""
        ...

    def warm(self) -> None:
        """Import what a call needs and make the client; nobody is called."""
        ...

    def renew(self) -> None:
        """Close all connections; the next call makes others. Not while calls are under way."""
        ...

    def forget(self, session_id: str) -> ErasedCounts | None:
        """Erase what is kept of the session; a vote goes with what was learnt from it. None: nothing was ever kept."""
        ...
