"""How long a call to another machine may take at most, for whoever waits for it in this thread."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def limit_waiting(seconds: float) -> Iterator[None]:
    """Within this block nobody is waited for longer than ``seconds`` from now."""
    token = _until.set(min(_until.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def seconds_left() -> float:
    """Seconds until then, never negative; infinite outside such a block."""
    return max(0.0, _until.get() - time.monotonic())
