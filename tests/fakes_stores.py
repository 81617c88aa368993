"""Stores in this process's memory, for tests of what stands on them."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores.layout import decode, encode_answer, expiry
from rag.values.question import Turn
from rag.values.stored import CachedAnswer, CacheHit


class InMemoryAnswerCache:
    """See ``rag.ports.AnswerCache``. It stands in for an L2, and says so in its hits."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._answers: dict[str, tuple[str, int]] = {}

    def get(self, key: str) -> CacheHit | None:
        body, expires_at = self._answers.get(key, ("", 0))
        answer = decode(CachedAnswer, body) if expires_at > self._clock() else None
        return CacheHit(key=key, answer=answer, layer="l2", expires_at=expires_at) if answer else None

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        if (body := encode_answer(answer)) is not None:
            self._answers[key] = (body, expiry(self._clock(), ttl_s))

    def evict(self, key: str) -> None:
        self._answers.pop(key, None)


class InMemoryMemory:
    """See ``rag.ports.Memory``; it forgets nothing."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[Turn]] = defaultdict(list)

    def remember(self, session_id: str, turn: Turn) -> None:
        self._sessions[session_id].append(turn)

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        return tuple(self._sessions[session_id][-limit:] if limit > 0 else ())


@contextmanager
def sqlite_table(path: Path, clock: Callable[[], float] = time.time) -> Iterator[SqliteTable]:
    """A SQLite table whose connection is closed after the block."""
    table = SqliteTable(path, clock=clock)
    try:
        yield table
    finally:
        table.renew()
