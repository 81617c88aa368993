"""What every profile says of its chat model; the defaults are Waypoint's, a profile overrides what differs."""

from __future__ import annotations

from typing import Any

from rag.config.knobs import Env, EnvironmentSettings, Source


class LlmSource(Source):
    """Adds the settings of a chat model. ``env`` is given where a seed has variables of its own, which win."""

    def llm_model(self, default: str, env: Env = "LLM_MODEL") -> Any:
        """The model's name."""
        return self.knob(default, env, "The chat model.", min_length=1)

    def llm_base_url(self, default: str) -> Any:
        """The model's endpoint."""
        return self.knob(default, "LLM_BASE_URL", "Its OpenAI-compatible endpoint.")

    def temperature(self, default: float) -> Any:
        """How freely the model chooses its words, 0..2."""
        return self.knob(default, "LLM_TEMPERATURE", "Sampling temperature.", ge=0, le=2)

    def max_tokens(self, default: int) -> Any:
        """The longest completion."""
        return self.tokens(default, "LLM_MAX_TOKENS", "Longest completion.", most=100_000)

    def connect_timeout_s(self, default: float, env: Env = "LLM_CONNECT_TIMEOUT_S") -> Any:
        """The wait for a connection."""
        return self.seconds(default, env, "Longest wait for a connection to the LLM.", most=60)

    def read_timeout_s(self, default: float, env: Env = "LLM_READ_TIMEOUT_S") -> Any:
        """The wait for a completion."""
        doc = "Longest wait for a completion; the request's deadline cuts it shorter."
        return self.seconds(default, env, doc, most=900)

    def retries(self, default: int) -> Any:
        """Calls after the first."""
        return self.count(default, "LLM_MAX_RETRIES", "Calls after the first one.", unit="calls", least=0, most=10)

    def backoff_base_s(self, default: float) -> Any:
        """The wait before the first retry."""
        return self.seconds(default, "LLM_BACKOFF_BASE_S", "Wait before the first retry; it doubles.", least=0, most=60)

    def backoff_jitter(self, default: float) -> Any:
        """What chance adds to a wait."""
        return self.share(default, "LLM_BACKOFF_JITTER", "Random share added to a wait.")


_SEED = LlmSource("waypoint")
_OURS = LlmSource()  # no seed says it


class LlmKnobs(EnvironmentSettings):
    """The chat model's numbers. A profile says which model, and where."""

    llm_model: str
    llm_base_url: str
    temperature: float = _SEED.temperature(0.3)
    max_tokens: int = _SEED.max_tokens(500)
    model_context_tokens: int = _OURS.count(
        0,
        "LLM_CONTEXT_TOKENS",
        "The model's context window: what is packed, the prompt and LLM_MAX_TOKENS fit into it together. 0: not known; "
        "a prompt that the server refuses for its length is halved then.",
        unit="tokens",
        least=0,
        most=10_000_000,
    )
    connect_timeout_s: float = _OURS.connect_timeout_s(3.0)
    read_timeout_s: float = _OURS.read_timeout_s(60.0)
    retries: int = _SEED.retries(3)
    backoff_base_s: float = _SEED.backoff_base_s(1.0)
    backoff_cap_s: float = _SEED.seconds(10.0, "LLM_BACKOFF_CAP_S", "Longest wait before a retry.", least=0, most=300)
    backoff_jitter: float = _SEED.backoff_jitter(0.25)

    @property
    def llm_chosen(self) -> bool:
        """Whether a variable of the seed's own, beside LLM_API_KEY and LLM_BASE_URL, switched the LLM on."""
        return False
