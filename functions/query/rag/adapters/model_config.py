"""What an adapter of a chat or an embedding model is built from, whoever its vendor is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig:
    """Where the model is and how patient to be.

    ``read_timeout_s`` bounds one whole call, from the first byte sent to the last one read; of a streamed one, to the
    first text. ``retries`` counts calls after the first. ``backoff_base_s``, ``backoff_cap_s`` and ``jitter`` (0..1)
    are those of ``backoff_s``.
    ``api_key`` is asked before each call, so that a rotated key is used, and never at the start: a secret that cannot
    be read must not stop it.
    ``fallback_models`` are asked in order: for good when a model is not found, for one request when it gives no
    completion. ``max_tokens`` None leaves it to the server. With ``is_strict`` a request that
    the first model refuses fails at once, as the seeds have it.
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
    retries: int
    backoff_base_s: float
    backoff_cap_s: float
    jitter: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait. ``call_s`` bounds one call; ``batch_s`` one batch with all its calls and pauses.

    ``retries`` counts calls after the first. ``base_s``, ``cap_s`` and ``jitter`` (0..1) are those of ``backoff_s``.
    """

    connect_s: float
    call_s: float
    batch_s: float
    retries: int
    base_s: float
    cap_s: float
    jitter: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedConfig:
    """Where the model is. ``dimensions`` is the length of its vectors, None to ask the model.

    With ``shorten`` the server is asked for vectors of that length. ``prefix`` goes before each text.
    ``api_key`` is asked before each call, so that a rotated key is used, and never at the start: a secret that cannot
    be read must not stop it.
    """

    base_url: str
    api_key: Callable[[], str] = field(repr=False)
    model: str
    dimensions: int | None = None
    shorten: bool = False
    prefix: str = ""
    patience: Patience
