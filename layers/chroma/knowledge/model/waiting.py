"""A limit on the time that this thread waits for other machines."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def limit_waiting(seconds: float) -> Iterator[None]:
    """Limit all waiting within this block to ``seconds`` from now."""
    token = _until.set(min(_until.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def seconds_left() -> float:
    """Return the seconds left to wait, never negative; infinite outside such a block."""
    return max(0.0, _until.get() - time.monotonic())
