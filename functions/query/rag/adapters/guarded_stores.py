"""A store behind a guard: every call that may wait for a disk or a network goes through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from rag.adapters.store_guard import StoreGuard

READS = frozenset({"get", "recall", "response", "votes_on"})
"""What a question asks before its answer. ``recent_negative`` comes after it, and so in the time of what is written."""


def guarded[S](store: S, guard: StoreGuard) -> S:
    """``store``, one of ``rag.ports.stores``, of which ``guard`` makes every call."""
    return cast("S", _Guarded(store, guard))


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Has the methods of ``inner``."""

    inner: object
    guard: StoreGuard

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.inner, name)
        through = self.guard.read if name in READS else self.guard.write
        return lambda *values, **named: through(partial(method, *values, **named))
