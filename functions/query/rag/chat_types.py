"""The frozen values around a model call: messages, completions, and the time that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the model's provider counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model or the extractive engine wrote.

    ``calls`` counts requests to a model (0 for the extractive engine), ``retries`` those after the first.
    ``degraded`` says that a last resort answered in place of the configured model.
    """

    text: str
    model: str
    finish_reason: str | None = None
    usage: Usage | None = None
    calls: int = 1
    retries: int = 0
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which a request must be answered, on a monotonic clock in seconds."""

    at: float
    clock: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """The deadline that is ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())
