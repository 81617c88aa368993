"""The answer cache in two layers: a small one in this process (L1), and the table that all processes share (L2)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TLRUCache

from rag.adapters.stores.guard import GuardedStore, guarded_read, guarded_write
from rag.adapters.stores.layout import answer_key, decode, encode_answer, expiry
from rag.adapters.stores.table import TableItem
from rag.ports import AnswerCache
from rag.values.stored import CachedAnswer, CacheHit

MAX_ENTRIES = 512
MAX_AGE_S = 60.0
"""An eviction in the shared layer holds in every process after this long at the latest."""
MAX_ENTRY_CHARS = 64 * 1024
"""Larger answers stay in the shared layer only: 512 of them would fill a small function's memory."""


class TableAnswerCache(GuardedStore):
    """See ``rag.ports.AnswerCache``."""

    @guarded_read
    def get(self, key: str) -> CacheHit | None:
        item = self._table.get(answer_key(key))
        if item and (answer := decode(CachedAnswer, item.attributes["body"])):
            return CacheHit(key=key, answer=answer, layer="l2", expires_at=item.expires_at)
        return None

    @guarded_write
    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        if (body := encode_answer(answer)) is not None:
            self._table.put(TableItem(answer_key(key), {"body": body}, expiry(self._table.clock(), ttl_s)))

    @guarded_write
    def evict(self, key: str) -> None:
        self._table.delete(answer_key(key))


@dataclass(frozen=True, slots=True)
class _Entry:
    body: str
    stored_at: float
    expires_at: int


class LayeredCache:
    """See ``rag.ports.LayeredAnswers``. ``l2`` is the shared layer.

    Entries are stored as text, so that no request can change the answer of another. Ages are by the wall clock: a
    monotonic clock may stand still while a snapshot waits to be restored.
    """

    def __init__(self, l2: AnswerCache, *, clock: Callable[[], float] = time.time) -> None:
        self._l2 = l2
        self._clock = clock
        self._lock = threading.Lock()
        self._evictions = 0
        self._l1: TLRUCache[str, _Entry] = TLRUCache(
            MAX_ENTRIES, ttu=lambda _, entry, now: min(now + MAX_AGE_S, entry.expires_at), timer=clock
        )

    def get_local(self, key: str) -> CacheHit | None:
        with self._lock:
            entry = self._l1.get(key)
        # A clock that was set back would keep an entry alive for too long.
        if entry is None or entry.stored_at > self._clock():
            return None
        answer = decode(CachedAnswer, entry.body)
        return CacheHit(key=key, answer=answer, layer="l1", expires_at=entry.expires_at) if answer else None

    def get(self, key: str) -> CacheHit | None:
        """Return the answer under ``key``, from this process if it is there, else from the shared layer."""
        with self._lock:
            evictions = self._evictions
        if hit := self.get_local(key):
            return hit
        hit = self._l2.get(key)
        if hit and (body := encode_answer(hit.answer)) is not None:
            with self._lock:
                # An answer that was evicted while it was read must not come back.
                if evictions == self._evictions:
                    self._put_local(key, body, hit.expires_at)
        return hit

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Store ``answer`` in both layers; after ``StoreUnavailable`` it is only in this process."""
        body = encode_answer(answer)
        if body is None:
            return
        with self._lock:
            self._put_local(key, body, expiry(self._clock(), ttl_s))
        self._l2.put(key, answer, ttl_s=ttl_s)

    def evict(self, key: str) -> None:
        """Delete the answer from both layers; after ``StoreUnavailable`` it is still in the shared one."""
        with self._lock:
            self._evictions += 1
            self._l1.pop(key, None)
        self._l2.evict(key)

    def clear(self) -> None:
        """Empty this process's layer."""
        with self._lock:
            self._evictions += 1
            self._l1.clear()

    def _put_local(self, key: str, body: str, expires_at: int) -> None:
        if len(body) <= MAX_ENTRY_CHARS:
            self._l1[key] = _Entry(body, self._clock(), expires_at)
        else:
            self._l1.pop(key, None)  # the entry in its place is older
