"""The configuration of a chat model's and of an embedder's adapter, the same for every vendor.

``api_key`` is called before each request, so that a rotated key is used, and never at the start: a secret that cannot
be read must not stop the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPolicy:
    """The calls after the first, and the pauses before them."""

    retries: int
    base_s: float
    cap_s: float
    jitter: float = 0.25

    def pause_s(self, attempt: int, *, draw: float) -> float:
        """Return the seconds to wait after failed attempt number ``attempt`` (from 1).

        ``min(base * 2**(attempt - 1) * (1 + draw * jitter), cap)``, the Waypoint seed's calculateBackoff: with base 1,
        cap 10 and jitter .25 it waits 1-1.25, 2-2.5, 4-5, 8-10, then 10 s. ``draw`` is random, 0..1.
        """
        exponential_s = self.base_s * 2.0 ** min(attempt - 1, 1000)  # a larger power overflows
        return min(exponential_s + draw * self.jitter * exponential_s, self.cap_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig(BackoffPolicy):
    """The address of a chat model, its parameters, timeouts and retries.

    ``read_timeout_s`` bounds one whole call, from the first byte sent to the last one read; of a streamed call, the
    time to the first text. ``fallback_models`` are asked in order: for good if a model is not found, for one request if
    it gives no completion. ``max_tokens`` None leaves the limit to the server. With ``is_strict`` a request that the
    first model refuses fails at once, as in the seeds.
    """

    base_url: str
    api_key: Callable[[], str] = field(repr=False)
    model: str
    fallback_models: tuple[str, ...] = ()
    temperature: float
    max_tokens: int | None
    is_strict: bool = False
    connect_timeout_s: float
    read_timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits(BackoffPolicy):
    """The timeouts and retries of an embedder; ``batch_s`` bounds all calls and pauses of a batch."""

    connect_s: float
    call_s: float
    batch_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedConfig:
    """The address of an embedder and its parameters.

    ``dimensions`` is the length of its vectors, None to ask the model. With ``shorten`` the server is asked for
    vectors of that length. ``prefix`` goes before each text.
    """

    base_url: str
    api_key: Callable[[], str] = field(repr=False)
    model: str
    dimensions: int | None = None
    shorten: bool = False
    prefix: str = ""
    limits: CallLimits
