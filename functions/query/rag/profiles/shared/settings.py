"""The settings of every profile: chat model, page, memory, cache, and evidence against the seed's rules.

A profile overrides a default with an annotated line of the same type and its own origin. The seeds of Waypoint and
Clockify have no conversations; readers of a page expect follow-up questions to work, so every profile recalls five
turns. DESIGN.md, decision 19: by default the index's evidence decides in every profile, SEED_RULES=on gives each the
numbers, retriever, gate and confidence of its seed, and a number that is set explicitly wins over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from rag.answer.check import UnsupportedPolicy
from rag.config.fields import (
    CLOCKIFY,
    DESIGN,
    WAYPOINT,
    Characters,
    Chunks,
    EnvironmentSettings,
    Pause,
    Seconds,
    Share,
    Tokens,
    UnitName,
    env,
)
from rag.contract import first_sentence

SEED_DECLINE = (
    "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist."
)
"""The answer of Waypoint and GaCounts if the documents hold none."""

LlmModel = Annotated[str, env("LLM_MODEL", min_length=1)]
LlmBaseUrl = Annotated[str, env("LLM_BASE_URL")]
Temperature = Annotated[float, env("LLM_TEMPERATURE", ge=0, le=2)]
MaxTokens = Annotated[Tokens, env("LLM_MAX_TOKENS", ge=1, le=100_000)]
ConnectTimeout = Annotated[Seconds, env("LLM_CONNECT_TIMEOUT_S", le=60)]
ReadTimeout = Annotated[Seconds, env("LLM_READ_TIMEOUT_S", le=900)]
Retries = Annotated[int, UnitName("calls"), env("LLM_MAX_RETRIES", ge=0, le=10)]
BackoffBase = Annotated[Pause, env("LLM_BACKOFF_BASE_S", le=60)]
BackoffJitter = Annotated[Share, env("LLM_BACKOFF_JITTER")]
TopK = Annotated[Chunks, env("RETRIEVAL_TOP_K")]
MaxQueryChars = Annotated[Characters, env("MAX_QUERY_LENGTH", ge=1, le=100_000)]
ContextTokens = Annotated[Tokens, env("MAX_CONTEXT_TOKENS", ge=50, le=1_000_000)]
RecencyWidth = Annotated[Share, env("RECENCY_WIDTH")]
AssistantName = Annotated[str, env("ASSISTANT_NAME", max_length=100)]
CacheSwitch = Annotated[bool, env("ENABLE_RESPONSE_CACHE")]
Threshold = Annotated[Literal["auto"] | Annotated[float, Field(ge=-1, le=1)], UnitName("cosine")]


class ProfileSettings(EnvironmentSettings):
    """The settings of a profile; memory and cache also need a store (TABLE_NAME, STORE_PATH)."""

    llm_model: LlmModel
    """The chat model."""
    llm_base_url: LlmBaseUrl
    """Its OpenAI-compatible endpoint."""
    temperature: Annotated[Temperature, WAYPOINT] = 0.3
    """Sampling temperature."""
    max_tokens: Annotated[MaxTokens, WAYPOINT] = 500
    """Longest completion."""
    model_context_tokens: Annotated[Tokens, env("LLM_CONTEXT_TOKENS", ge=0, le=10_000_000)] = 0
    """The model's context window: what is packed, the prompt and LLM_MAX_TOKENS fit into it together. 0: not known; a
    prompt that the server refuses for its length is halved then."""
    connect_timeout_s: ConnectTimeout = 3.0
    """Longest wait for a connection to the LLM."""
    read_timeout_s: ReadTimeout = 60.0
    """Longest wait for a completion; the request's deadline cuts it shorter."""
    retries: Annotated[Retries, WAYPOINT] = 3
    """Calls after the first one."""
    backoff_base_s: Annotated[BackoffBase, WAYPOINT] = 1.0
    """Wait before the first retry; it doubles."""
    backoff_cap_s: Annotated[Pause, env("LLM_BACKOFF_CAP_S", le=300), WAYPOINT] = 10.0
    """Longest wait before a retry."""
    backoff_jitter: Annotated[BackoffJitter, WAYPOINT] = 0.25
    """Random share added to a wait."""
    top_k: TopK
    """Chunks to retrieve."""
    max_query_chars: MaxQueryChars
    """Longest question."""
    assistant_name: AssistantName = ""
    """Who answers, as the page and the model are told. Empty: the page says what the documents' site is called."""
    assistant_greeting: Annotated[str, env("ASSISTANT_GREETING", max_length=500)] = ""
    """What the page says first."""
    assistant_contact: Annotated[str, env("ASSISTANT_CONTACT", max_length=200)] = ""
    """Whom to ask where the documents hold no answer, as the page and house say then: an address, a number, a name."""
    assistant_disclaimer: Annotated[str, env("ASSISTANT_DISCLAIMER", max_length=500)] = ""
    """What the page says below its field, such as how far to trust it."""
    history_turns: Annotated[int, UnitName("turns"), env("HISTORY_TURNS", ge=0, le=50), DESIGN] = 5
    """Turns of a session that are recalled, for its next question; 0 remembers none."""
    history_chars: Annotated[Characters, env("HISTORY_CHARS", ge=0, le=100_000), DESIGN] = 4000
    """Longest history in a prompt."""
    reframe_budget_s: Annotated[Seconds, env("REFRAME_TIMEOUT_S", le=60), DESIGN] = 5.0
    """Longest wait for a rewriting."""
    cache: Annotated[CacheSwitch, DESIGN] = False
    """Whether answers are cached."""
    seed_rules: Annotated[bool, env("SEED_RULES"), DESIGN] = False
    """on: the seed's own numbers, retriever, gate and confidence, in place of the evidence."""
    retriever: Annotated[Literal["", "late", "dense", "hybrid"], env("RETRIEVER"), DESIGN] = ""
    """late (all signals), dense (by meaning) or hybrid (by meaning and words). Empty: late; under SEED_RULES=on the
    seed's."""
    threshold: Annotated[Threshold, env("RELEVANCE_THRESHOLD")] = "auto"
    """The plain cosine that the best chunk must reach, or auto: the index's own bar, measured at ingest; 0.40 where
    none was measured. Under SEED_RULES=on auto is the seed's: none."""
    doubtful: Annotated[Literal["ask", "quote", "decline"], env("DOUBTFUL"), DESIGN] = "ask"
    """What becomes of a question whose evidence is below the index's bar, and above that of 80 % of questions about
    nothing: ask the model, quote what comes closest, or decline. Without a model ask is quote. A threshold that is set,
    labels and SEED_RULES=on know no doubt."""
    dense_weight: Annotated[Share, env("HYBRID_DENSE_WEIGHT"), CLOCKIFY] = 0.7
    """Weight of dense search against BM25 in the hybrid retriever."""
    unsupported: Annotated[UnsupportedPolicy, env("UNSUPPORTED"), DESIGN] = "mark"
    """What becomes of a statement that no passage supports, or that cites none: mark it, remove it, or keep it as it
    is. Under SEED_RULES=on nothing is checked."""
    weak: Annotated[Literal["quotes", "text"], env("LLM_WEAK")] = "quotes"
    """What is given where no statement of a model's answer has any support: quotes of the documents, with the model's
    text beside them, or its text. Under SEED_RULES=on nothing is checked, and it is the text."""
    check: Annotated[Literal["off", "llm", "auto"], env("CHECK")] = "off"
    """Whether the model is asked as a judge, in one call an answer, after its claims were compared with the passages:
    off, llm (of all that cite a passage), or auto (of those that are not word for word in one). It may acquit a claim
    of all but a missing number or name. No judge without a model, nor under SEED_RULES=on."""
    judge_budget_s: Annotated[Seconds, env("JUDGE_TIMEOUT_S", le=60)] = 5.0
    """Longest wait for the judge."""
    confidence_shift: Annotated[float, env("CONFIDENCE_SHIFT", ge=-5, le=5)] = 0.0
    """What is added to the log odds of the confidence in what a model wrote: above 0 for a model that is more often
    faithful than the rated ones that it was fitted on, below 0 for a weaker one."""

    @property
    def is_llm_configured(self) -> bool:
        """Whether a variable of the seed's own, beside LLM_API_KEY and LLM_BASE_URL, configures the LLM."""
        return False

    @property
    def decline(self) -> str:
        """The answer if the documents hold none; the model is told its first sentence."""
        return "I could not find an answer to that in the documents."

    @property
    def prompt_words(self) -> Mapping[str, str]:
        """The values of the system prompt's placeholders by name."""
        assistant = f"You are the assistant of {self.assistant_name}. " if self.assistant_name else ""
        return {"assistant": assistant, "decline": first_sentence(self.decline)}

    @property
    def prompt_history_chars(self) -> int:
        """The longest history in the system prompt.

        0: the prompt has no place for one, and the model is asked the rewritten question.
        """
        return 0

    def threshold_or[T](self, default: T) -> float | T:
        """Return the threshold if a number is set, else ``default``."""
        return default if self.threshold == "auto" else self.threshold
