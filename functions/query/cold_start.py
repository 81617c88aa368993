"""How long the first caller has waited before the function hears of the request.

API Gateway counts from the request on, Lambda's remaining time begins after the init. Without a snapshot, as with an
index on EFS, an init takes seconds, which the first request's deadline must not spend a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BEGAN = time.monotonic()
"""Of the init, but for the start of Python itself, which is a fifth of a second; so ``app`` imports this first."""
AT_ONCE_S = 1.0
"""A request that comes later than this after the init did not wait for it: Lambda had started ahead of need."""


class ColdStart:
    """The init of this process, which took ``init_s`` and is done now. ``clock`` counts seconds, monotonically."""

    def __init__(self, init_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._init_s = init_s
        self._clock = clock
        self._done_at = clock()

    def waited_s(self) -> float:
        """What the caller of this request waited for the init: 0 for all but the first, and after a restore."""
        waited_s, self._init_s = self._init_s, 0.0
        return waited_s if self._clock() - self._done_at <= AT_ONCE_S else 0.0

    def over(self) -> None:
        """Nobody waited for the init: a snapshot was taken after it."""
        self._init_s = 0.0
