"""Values of a model call: messages, completions, token usage and deadlines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

type OnText = Callable[[str], None]
"""Called with each piece of text, and with ``""`` about once a second while the model is silent, so that a client that
has gone is noticed. An exception that it raises ends the model's call."""

STOPPED = "stopped"
"""The finish reason of a text whose client has gone."""
PARTIAL = frozenset({"length", "interrupted", STOPPED})
"""The finish reasons of an incomplete text: out of tokens or time, a failure, a client that has gone.
The other finish reasons are ``stop`` and, if the vendor gave none, None."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of the model's provider."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Quote:
    """Part of a source: ``text`` of the passage at place ``passage`` in ``Context.passages``.

    ``marked`` is the run in ``text`` that answers the question best, ``""`` if unknown.
    """

    passage: int
    text: str
    marked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The text of a model or of the extractive engine; ``""`` if that engine found nothing to quote.

    - ``model``: the model's name by the server; ``requested_model``: the name in the request
    - ``calls``: requests to a model, 0 for the extractive engine; ``retries``: calls after the first
    - ``degraded``: quotes replace the configured model's text; ``denied`` (0 or 1): only the operator can mend that
    - ``quotes``: the extractive engine's quotes in order; ``note`` and ``closing``: its words before and after them
    - ``revised``: ``text`` differs from the streamed pieces, which had reasoning or a loop in them
    """

    text: str
    model: str
    requested_model: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    calls: int = 1
    retries: int = 0
    degraded: bool = False
    denied: int = 0
    quotes: tuple[Quote, ...] = ()
    note: str = ""
    closing: str = ""
    revised: bool = False

    @property
    def partial(self) -> bool:
        """Whether the text is incomplete."""
        return self.finish_reason in PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUse:
    """Usage of an LLM: requests, retries among them, and tokens by the provider's count.

    An unreadable reply counts as a request without tokens. ``denied`` counts the completions that failed for a reason
    that only the operator can mend (``rag.errors.LlmDenied``).
    """

    calls: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    denied: int = 0

    def __add__(self, other: LlmUse) -> LlmUse:
        return LlmUse(**{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)})


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time by which a request must be answered, in seconds of a monotonic clock.

    The first text of a stream must be there by ``at``. The pause between two texts may be ``between_s`` seconds, and
    the stream must end by ``end``, on the same clock; None means by ``at``.
    """

    at: float
    clock: Callable[[], float]
    between_s: float = math.inf
    end: float | None = None

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """Return the deadline in ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def remaining_in_stream(self) -> float:
        """Return the seconds left until the end of a stream, never negative."""
        return self.stream_deadline().remaining()

    def stream_deadline(self) -> Deadline:
        """Return the deadline of a stream that has begun, and of the stages after its text."""
        return self if self.end is None else replace(self, at=self.end)
