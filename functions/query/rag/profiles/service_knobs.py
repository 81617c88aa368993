"""What every profile says of what it remembers: conversations and answers, both off where its seed has neither."""

from __future__ import annotations

from typing import Any

from rag.config.knobs import knob
from rag.profiles.llm_knobs import LlmKnobs
from rag.profiles.services import Services
from rag.stages.cache.answer_cache import CacheSlot
from rag.stages.conversation.conversation import Conversation


def turns_knob(default: int) -> Any:
    """``HISTORY_TURNS`` with a profile's own default."""
    return knob(
        default,
        env="HISTORY_TURNS",
        doc="Turns of a session that are recalled, so that follow-ups are understood; 0 remembers none.",
        unit="turns",
        source="DESIGN.md",
        ge=0,
        le=50,
    )


def cache_knob(default: bool, source: str) -> Any:
    """``ENABLE_RESPONSE_CACHE`` with a profile's own default."""
    return knob(default, env="ENABLE_RESPONSE_CACHE", doc="Whether answers are cached.", source=source)


class ServiceKnobs(LlmKnobs):
    """The numbers of memory and cache; both also need a store (TABLE_NAME, STORE_PATH)."""

    history_turns: int = turns_knob(0)
    history_chars: int = knob(
        4000,
        env="HISTORY_CHARS",
        doc="Longest history in a prompt.",
        unit="characters",
        source="DESIGN.md",
        ge=0,
        le=100_000,
    )
    reframe_budget_s: float = knob(
        5.0, env="REFRAME_TIMEOUT_S", doc="Longest wait for a rewriting.", unit="s", source="DESIGN.md", gt=0, le=60
    )
    cache: bool = cache_knob(False, "DESIGN.md")

    @property
    def prompt_history_chars(self) -> int:
        """Longest history in the system prompt. 0: it has no place for one, and the model is asked the question that
        the follow-up was rewritten to."""
        return 0


def conversation(knobs: ServiceKnobs, services: Services) -> Conversation | None:
    """Memory and follow-ups, where a store is and turns are recalled."""
    return services.conversation(
        turns=knobs.history_turns, history_chars=knobs.history_chars, budget_s=knobs.reframe_budget_s
    )


def answer_cache(knobs: ServiceKnobs, services: Services, bar: float) -> CacheSlot | None:
    """The cache, where a store is and it is on; ``bar`` is the lowest top cosine (-1..1) of an answer that it keeps."""
    return services.answer_cache(bar) if knobs.cache else None
