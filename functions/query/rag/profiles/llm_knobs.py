"""What every profile says of its chat model; the defaults are Waypoint's, a profile overrides what differs."""

from __future__ import annotations

from rag.config.knobs import Configured, knob

_SEED = "waypoint"


class LlmKnobs(Configured):
    """The chat model's numbers. A profile adds ``llm_model`` and ``llm_base_url`` with its own variables."""

    temperature: float = knob(0.3, env="LLM_TEMPERATURE", doc="Sampling temperature.", source=_SEED, ge=0, le=2)
    max_tokens: int = knob(
        500, env="LLM_MAX_TOKENS", doc="Longest completion.", unit="tokens", source=_SEED, ge=1, le=100_000
    )
    connect_timeout_s: float = knob(
        3.0, env="LLM_CONNECT_TIMEOUT_S", doc="Longest wait for a connection to the LLM.", unit="s", gt=0, le=60
    )
    read_timeout_s: float = knob(
        60.0,
        env="LLM_READ_TIMEOUT_S",
        doc="Longest wait for a completion; the request's deadline cuts it shorter.",
        unit="s",
        gt=0,
        le=900,
    )
    retries: int = knob(
        3, env="LLM_MAX_RETRIES", doc="Calls after the first one.", unit="calls", source=_SEED, ge=0, le=10
    )
    backoff_base_s: float = knob(
        1.0,
        env="LLM_BACKOFF_BASE_S",
        doc="Wait before the first retry; it doubles.",
        unit="s",
        source=_SEED,
        ge=0,
        le=60,
    )
    backoff_cap_s: float = knob(
        10.0, env="LLM_BACKOFF_CAP_S", doc="Longest wait before a retry.", unit="s", source=_SEED, ge=0, le=300
    )
    backoff_jitter: float = knob(
        0.25, env="LLM_BACKOFF_JITTER", doc="Random share added to a wait.", source=_SEED, ge=0, le=1
    )

    @property
    def llm_chosen(self) -> bool:
        """Whether a variable of the seed's own, beside LLM_API_KEY and LLM_BASE_URL, switched the LLM on."""
        return False
