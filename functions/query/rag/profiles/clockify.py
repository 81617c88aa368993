"""Clockify: the help desk of a time-tracking product."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import field_validator

from rag.answer.citation_forms import IdForm
from rag.answer.confidence import ConfidenceRouter
from rag.ask.admission import StrictAdmission
from rag.config.fields import CLOCKIFY, Chunks, DefaultOrigin, Percent, PositiveShare, Share, Tokens, env
from rag.find.gate import Coverage
from rag.find.pack import IdPacker, NumberPacker, disarm_ids
from rag.find.refine import Mmr
from rag.find.retrieve import HybridRetriever
from rag.pipeline import Pipeline
from rag.profiles.shared import settings as shared
from rag.profiles.shared.pipeline import UNCALIBRATED, Profile, RetrievalPolicy, Seed, StageDependencies, build_pipeline

DECLINE = "I don't know based on the MD."

DOCS = DefaultOrigin("docs/profiles.md")
SEED_THRESHOLD = 0.25
SEED = Seed(
    cuts=True,
    left_out=(
        "questions and documents are embedded by the index's model, not by nomic-embed-text",
        "BM25 counts 30 % for every question: the seed names an intent-aware weight and does not say how it is chosen",
        "the weights of the confidence's four parts are ours: the seed names the parts alone",
    ),
)


class ClockifySettings(shared.ProfileSettings):
    """Clockify's settings. Scores that gate and confidence read are plain cosines; confidence is 0..100."""

    decline: ClassVar[str] = DECLINE
    max_query_chars: Annotated[shared.MaxQueryChars, CLOCKIFY] = 10_000
    assistant_name: shared.AssistantName = "Clockify help"
    top_k: Annotated[shared.TopK, env("DEFAULT_TOP_K", "RETRIEVAL_TOP_K"), CLOCKIFY] = 15
    """Candidates."""
    pack_top: Annotated[Chunks, env("DEFAULT_PACK_TOP"), CLOCKIFY] = 8
    """Chunks to pack."""
    mmr_lambda: Annotated[Share, env("MMR_LAMBDA"), CLOCKIFY] = 0.75
    """Weight of relevance against diversity."""
    threshold: Annotated[shared.Threshold, env("DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"), CLOCKIFY] = "auto"
    """The plain cosine that the best chunk must reach, or auto: the index's own bar, measured at ingest; 0.40 where
    none was measured. Under SEED_RULES=on auto is the seed's: MIN_COVERING_CHUNKS chunks need .25."""
    min_chunks: Annotated[Chunks, env("MIN_COVERING_CHUNKS"), CLOCKIFY] = 2
    """Chunks that must reach the threshold under SEED_RULES=on; where fewer are asked for, all of those."""
    context_tokens: Annotated[Tokens, env("CTX_TOKEN_BUDGET", ge=200, le=2_000_000), CLOCKIFY] = 12_000
    """The model's context, of which a share is packed."""
    context_share: Annotated[PositiveShare, env("CTX_SHARE"), CLOCKIFY] = 0.6
    """Share of the context for chunks; the rest is prompt and answer."""
    llm_model: Annotated[shared.LlmModel, env("RAG_CHAT_MODEL", "LLM_MODEL"), CLOCKIFY] = "qwen2.5:32b"
    llm_base_url: Annotated[str, env("RAG_OLLAMA_URL", validate_default=True), CLOCKIFY] = "http://127.0.0.1:11434"
    """Ollama's address, with or without /v1; setting it switches the LLM on."""
    temperature: Annotated[shared.Temperature, CLOCKIFY] = 0.0
    max_tokens: shared.MaxTokens = 1000
    connect_timeout_s: Annotated[
        shared.ConnectTimeout, env("CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"), CLOCKIFY
    ] = 3.0
    read_timeout_s: Annotated[shared.ReadTimeout, env("CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"), CLOCKIFY] = 120.0
    retries: Annotated[shared.Retries, CLOCKIFY] = 1
    backoff_base_s: Annotated[shared.BackoffBase, CLOCKIFY] = 0.5
    backoff_jitter: Annotated[shared.BackoffJitter, CLOCKIFY] = 0.0
    full_similarity: Annotated[float, env("CONFIDENCE_FULL_SIMILARITY", ge=0.5, le=1), DOCS] = UNCALIBRATED.ceiling
    """Best cosine that counts in full in the seed's confidence; it begins to count at 0.40."""
    escalate_below: Annotated[Percent, env("ESCALATE_BELOW"), CLOCKIFY] = UNCALIBRATED.medium
    """Confidence below which a person should answer, and no answer is more than Low. Medium begins at 50, in the seed's
    confidence here."""
    high: Annotated[Percent, env("CONFIDENCE_HIGH"), DOCS] = UNCALIBRATED.high
    """Score from which the seed's confidence is High; where ESCALATE_BELOW is more, that. Without SEED_RULES High
    begins at 75."""

    @field_validator("llm_base_url")
    @classmethod
    def _openai_compatible(cls, url: str) -> str:
        return f"{url.rstrip('/').removesuffix('/v1')}/v1"

    @property
    def is_llm_configured(self) -> bool:
        """Whether RAG_OLLAMA_URL is set."""
        return "llm_base_url" in self.model_fields_set

    @property
    def gate_count(self) -> int:
        """The covering chunks that an answer needs, at most as many as can be packed."""
        return min(self.min_chunks, self.top_k, self.pack_top)


def build(settings: ClockifySettings, dependencies: StageDependencies) -> Pipeline:
    """Build the seed's stages over ``dependencies``."""
    threshold = settings.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=HybridRetriever(dependencies.index, dense_weight=settings.dense_weight),
        gate=Coverage(settings.gate_count, threshold),
        score=replace(
            UNCALIBRATED,
            ceiling=settings.full_similarity,
            high=max(settings.high, settings.escalate_below),
            medium=settings.escalate_below,
        ),
        bar=threshold,
    )
    form = IdForm(numbered=not settings.seed_rules)
    tokens = int(settings.context_tokens * settings.context_share)
    pack = IdPacker(tokens) if settings.seed_rules else NumberPacker(tokens, form, disarm_ids)
    return replace(
        build_pipeline("clockify", settings, dependencies, seed=seed, form=form, pack=pack),
        admit=StrictAdmission(settings.max_query_chars),
        refine=(Mmr(settings.mmr_lambda, settings.pack_top),),
        route=ConfidenceRouter(settings.escalate_below),
    )


PROFILE = Profile("Clockify: the help desk of a time-tracking product.", ClockifySettings, build, SEED)
