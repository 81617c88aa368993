"""What one request gathers on its way through the pipeline: timings, and what failed or happened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from rag.types import Deadline

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """The state of one request. ``timings`` are milliseconds by slot, ``skipped`` the optional stages that failed."""

    clock: Callable[[], float]
    deadline: Deadline
    timings: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def time[**P, T](self, slot: str, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call, and add what it took to ``slot``'s time, whether it returns or raises."""
        start = self.clock()
        try:
            return call(*args, **kwargs)
        finally:
            self.timings[slot] = self.timings.get(slot, 0.0) + 1000 * (self.clock() - start)

    def soft[T](self, slot: str, call: Callable[[], T], default: T) -> T:
        """Call an optional stage; when it fails, log it, name it in ``skipped`` and go on with ``default``."""
        try:
            return self.time(slot, call)
        except Exception as exc:  # noqa: BLE001 - whatever an optional stage does, the question is answered
            logger.warning("%s is skipped: %s: %s", slot, type(exc).__name__, exc)
            self.skipped.append(slot)
            return default
