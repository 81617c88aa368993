"""What every profile says of itself and of what it remembers: conversations, and answers where its seed caches them.

The seeds of Waypoint and Clockify have no conversations. People who ask on a page expect to be understood when they go
on, so every profile recalls five turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag.ask.cache.answer_cache import CacheSlot
from rag.ask.conversation.conversation import Conversation
from rag.contract.decline import first_sentence
from rag.profiles.shared.llm_knobs import LlmKnobs, LlmSource
from rag.profiles.shared.optional_stages import OptionalStages


class ServiceSource(LlmSource):
    """Adds the settings of the services that every profile may have, and of the longest question."""

    def max_query_chars(self, default: int) -> Any:
        """The longest question that is admitted."""
        return self.characters(default, "MAX_QUERY_LENGTH", "Longest question.")

    def assistant_name(self, default: str) -> Any:
        """Who answers, as the page has it."""
        doc = (
            "Who answers, as the page and the model are told. Empty: the page says what the documents' site is called."
        )
        return self.knob(default, "ASSISTANT_NAME", doc, max_length=100)

    def history_turns(self, default: int) -> Any:
        """How much of a session is recalled."""
        doc = "Turns of a session that are recalled, for its next question; 0 remembers none."
        return self.count(default, "HISTORY_TURNS", doc, unit="turns", least=0, most=50)

    def cache(self, default: bool) -> Any:
        """Whether there is an answer cache."""
        return self.knob(default, "ENABLE_RESPONSE_CACHE", "Whether answers are cached.")


DESIGN = ServiceSource("DESIGN.md")
OURS = ServiceSource()
"""What neither a seed nor a decision says."""


class ServiceKnobs(LlmKnobs):
    """The words of the page, and the numbers of memory and cache; both also need a store (TABLE_NAME, STORE_PATH)."""

    top_k: int
    max_query_chars: int
    assistant_name: str = OURS.assistant_name("")
    assistant_greeting: str = OURS.knob("", "ASSISTANT_GREETING", "What the page says first.", max_length=500)
    assistant_contact: str = OURS.knob(
        "",
        "ASSISTANT_CONTACT",
        "Whom to ask where the documents hold no answer, as the page and house say then: an address, a number, a name.",
        max_length=200,
    )
    assistant_disclaimer: str = OURS.knob(
        "", "ASSISTANT_DISCLAIMER", "What the page says below its field, such as how far to trust it.", max_length=500
    )
    history_turns: int = DESIGN.history_turns(5)
    history_chars: int = DESIGN.characters(4000, "HISTORY_CHARS", "Longest history in a prompt.", least=0)
    reframe_budget_s: float = DESIGN.seconds(5.0, "REFRAME_TIMEOUT_S", "Longest wait for a rewriting.", most=60)
    cache: bool = DESIGN.cache(False)

    @property
    def decline(self) -> str:
        """What is said where the documents hold no answer; the model is told its first sentence."""
        return "I could not find an answer to that in the documents."

    @property
    def prompt_words(self) -> Mapping[str, str]:
        """What the system prompt's own placeholders stand for, by name."""
        assistant = f"You are the assistant of {self.assistant_name}. " if self.assistant_name else ""
        return {"assistant": assistant, "decline": first_sentence(self.decline)}

    @property
    def prompt_history_chars(self) -> int:
        """Longest history in the system prompt.

        0: it has no place for one, and the model is asked the question as it was rewritten.
        """
        return 0


def conversation(knobs: ServiceKnobs, stages: OptionalStages, decline: str) -> Conversation:
    """How questions are understood in the light of the turns before, and where turns are remembered."""
    return stages.conversation(
        turns=knobs.history_turns,
        history_chars=knobs.history_chars,
        budget_s=knobs.reframe_budget_s,
        decline=decline,
    )


def answer_cache(knobs: ServiceKnobs, stages: OptionalStages, bar: float) -> CacheSlot | None:
    """The cache, where a store is and it is on; ``bar`` is the lowest top cosine (-1..1) of an answer that it keeps."""
    return stages.answer_cache(bar) if knobs.cache else None
