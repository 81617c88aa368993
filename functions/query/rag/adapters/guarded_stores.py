"""The stores behind a guard: every call that may wait for a disk or a network goes through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.adapters.store_guard import StoreGuard
from rag.ports import AnswerCache, FeedbackStore, Memory
from rag.values.stored import CachedAnswer, CacheHit, ResponseRecord, Turn, Vote


@dataclass(frozen=True, slots=True)
class GuardedAnswerCache:
    """See ``rag.ports.AnswerCache``."""

    inner: AnswerCache
    guard: StoreGuard

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        return self.guard.read(lambda: self.inner.get(key))

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds."""
        self.guard.write(lambda: self.inner.put(key, answer, ttl_s=ttl_s))

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        self.guard.write(lambda: self.inner.evict(key))


@dataclass(frozen=True, slots=True)
class GuardedMemory:
    """See ``rag.ports.Memory``."""

    inner: Memory
    guard: StoreGuard

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``."""
        self.guard.write(lambda: self.inner.remember(session_id, turn))

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns, oldest first."""
        return self.guard.read(lambda: self.inner.recall(session_id, limit=limit))


@dataclass(frozen=True, slots=True)
class GuardedFeedback:
    """See ``rag.ports.FeedbackStore``."""

    inner: FeedbackStore
    guard: StoreGuard

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response``."""
        self.guard.write(lambda: self.inner.record(response))

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id."""
        return self.guard.read(lambda: self.inner.response(response_id))

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Let ``voter``'s vote on ``response`` be ``helpful``."""
        return self.guard.write(lambda: self.inner.vote(response, voter=voter, helpful=helpful, at=at, comment=comment))

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk."""
        return self.guard.read(lambda: self.inner.votes_on(chunk_ids, since=since))

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether votes since ``since`` bar this cache key; asked before an answer is kept, and so in that time."""
        return self.guard.write(lambda: self.inner.recent_negative(cache_key, since=since))
