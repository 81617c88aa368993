"""How long the first caller has waited before the function hears of the request.

API Gateway counts from the request on, Lambda's remaining time begins after the init. Without a snapshot, as with an
index on EFS, an init takes seconds, which the first request's deadline must not spend a second time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

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


def process_age_s() -> float:
    """Seconds since this process began; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
            began_ticks = int(stat.read().rpartition(")")[2].split()[19])  # field 22 of proc(5), since boot
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began_ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return 0.0
