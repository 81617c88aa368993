"""What a crawl needs of the machine beside files: clocks, sleep, name resolution. Tests give their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from documents.crawl.networks import Resolve, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """``clock`` counts seconds from anywhere; ``now`` is the date with UTC as its zone."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    resolve: Resolve = resolve
