"""The frozen values around a model call: messages, completions, what they used, and the time that there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

type OnText = Callable[[str], None]
"""Gets what a model writes, piece by piece; ``""`` at least about once a second while nothing comes, so that a listener
that has gone is noticed. What it raises ends the model's call."""

STOPPED = "stopped"
"""The finish reason of a text that nobody listens to any more."""
PARTIAL = frozenset({"length", "interrupted", STOPPED})
"""The finish reasons of a text that is not whole: no more tokens or no more time, something broke, nobody listens.
A completion's other finish reasons are ``stop`` and, where its vendor gave none, None."""


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


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a source, ``text`` of the passage at that place in ``Context.used``.

    ``marked`` is the run in ``text`` that answers best, ``""`` where that is not known.
    """

    passage: int
    text: str
    marked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model or the extractive engine wrote: ``""`` where that engine found nothing to quote.

    ``quotes`` are what the extractive engine quotes, in their order, and ``note`` what it says before; a model's
    text has none. ``calls`` counts requests to a model (0 for the extractive engine), ``retries`` those after the
    first. ``degraded`` says that quotes stand in place of what the configured model writes, ``denied`` (0 or 1)
    whether only the operator can mend that. ``asked`` is the model as it was asked for, where the server may have
    said ``model``. ``revised`` says that ``text`` is not what ``OnText`` got: some of that was reasoning, or a loop.
    """

    text: str
    model: str
    asked: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    calls: int = 1
    retries: int = 0
    degraded: bool = False
    denied: int = 0
    quotes: tuple[Quote, ...] = ()
    note: str = ""
    revised: bool = False

    @property
    def partial(self) -> bool:
        """Whether its writer would have gone on."""
        return self.finish_reason in PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUse:
    """What was used of an LLM: requests to it, those of them that were retries, and the tokens that it counted.

    An answer that cannot be read counts as a request; its tokens are not known. ``denied`` counts the completions that
    failed because of something that only the operator can mend (``rag.errors.LlmDenied``).
    """

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    denied: int = 0

    @classmethod
    def of(cls, completion: Completion) -> LlmUse:
        """What one completion used, its failed calls included."""
        usage = completion.usage or Usage(0, 0, 0)
        return cls(
            calls=completion.calls,
            retries=completion.retries,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            denied=completion.denied,
        )

    def __add__(self, other: LlmUse) -> LlmUse:
        return LlmUse(
            calls=self.calls + other.calls,
            retries=self.retries + other.retries,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            denied=self.denied + other.denied,
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which a request must be answered, on a monotonic clock in seconds.

    A stream must have begun by ``at``: that is when its first text must be there. From then on no two texts may be more
    than ``between_s`` seconds apart, and it must have ended by ``end``, on the same clock; None means by ``at``.
    """

    at: float
    clock: Callable[[], float]
    between_s: float = math.inf
    end: float | None = None

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """The deadline that is ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def whole(self) -> float:
        """Seconds left until the end, a stream's too; never negative."""
        return self.ending().remaining()

    def ending(self) -> Deadline:
        """The deadline of a stream that has begun, and of what follows its text."""
        return self if self.end is None else replace(self, at=self.end)
