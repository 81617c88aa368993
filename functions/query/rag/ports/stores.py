"""The stores of answers, conversations and votes.

Their methods may raise ``StoreUnavailable``. A read sees every earlier write of any process (a cache in this process
may lag by its maximum age) and nothing that has expired. Stores serve any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rag.values.question import Turn
from rag.values.stored import CachedAnswer, CacheHit, ResponseRecord, Vote


class AnswerCache(Protocol):
    """Answers by key. A key is the sha256 (hex) of everything that the answer depends on."""

    def get(self, key: str) -> CacheHit | None:
        """Return the answer under ``key``, if there is one."""
        ...

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Store ``answer`` for ``ttl_s`` seconds, replacing the one under ``key``; a too large one is not stored."""
        ...

    def evict(self, key: str) -> None:
        """Delete the answer under ``key``."""
        ...


class LayeredAnswers(AnswerCache, Protocol):
    """An answer cache that also has some answers in this process."""

    def get_local(self, key: str) -> CacheHit | None:
        """Return the answer under ``key`` if it is in this process; raises nothing."""
        ...


class Memory(Protocol):
    """The turns of conversations; whoever knows a session's id may read it."""

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``; overlong texts are cut."""
        ...

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """Return the last ``limit`` turns (at most ``MAX_TURNS``), oldest first by ``at``, then by arrival."""
        ...


class FeedbackStore(Protocol):
    """Responses and the votes on them."""

    def record(self, response: ResponseRecord) -> None:
        """Store ``response`` for 30 days."""
        ...

    def response(self, response_id: str) -> ResponseRecord | None:
        """Return the response with this id; None for any other text."""
        ...

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Set ``voter``'s vote on ``response`` to ``helpful``; None withdraws it.

        Atomic and idempotent. The vote with the latest ``at`` stands, in whatever order votes arrive; of two with the
        same ``at`` the one that arrives last. Return whether ``voter`` had no vote yet against or withdrawn.

        Raises:
            TooManyVotes: the response's ``session`` has no vote left in this hour.
        """
        ...

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """Return the standing votes from ``since`` on, oldest first, by chunk; chunks without votes are left out.

        Of each voter the newest ``MAX_VOTES_PER_VOTER`` (an earlier one takes the place of a withdrawn one), per chunk
        at most ``MAX_VOTES_PER_CHUNK``. The caller decides which votes count as one voice.
        """
        ...

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Return whether votes from ``since`` on stand against responses of this cache key.

        One vote of a session is enough; anonymous votes must be on responses of ``HOURS_AGAINST`` different hours.
        """
        ...
