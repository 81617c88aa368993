"""Progress of an answer, told to who asked for it by a token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from rag.values.request import Delta, Event, Listen, Status

EVERY_S = 1.0
"""While a model writes, this is told no oftener."""
type Notify = Callable[[dict[str, Any]], None]
"""Sends a notification to the client; what it raises ends the model's call."""


def listener(params: Mapping[str, Any], notify: Notify | None) -> Listen | None:
    """What tells of an answer's progress; None where it has no token, or nothing can be sent before its end."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    if notify is None or isinstance(token, bool) or not isinstance(token, str | int):
        return None
    return _Progress(token, notify)


@dataclass(slots=True)
class _Progress:
    token: str | int
    notify: Notify
    numbers: count[int] = field(default_factory=lambda: count(1))
    characters: int = 0
    told_at: float = 0.0

    def __call__(self, event: Event) -> None:
        """Tell of ``event``: each stage, and how much is written."""
        if isinstance(event, Status):
            self._tell(event.stage)
        elif isinstance(event, Delta):
            self.characters += len(event.text)
            if time.monotonic() - self.told_at >= EVERY_S:
                self._tell(f"writing: {self.characters} characters")

    def _tell(self, message: str) -> None:
        self.told_at = time.monotonic()
        params = {"progressToken": self.token, "progress": next(self.numbers), "message": message}
        self.notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
