"""Clockify: the help desk of a time-tracking product."""

from __future__ import annotations

from pydantic import ValidationInfo, field_validator

from rag.config.knobs import knob
from rag.pipeline import Pipeline
from rag.profiles.inputs import Inputs
from rag.profiles.service_knobs import ServiceKnobs, answer_cache, conversation
from rag.stages.admit.admission import StrictAdmission
from rag.stages.after.route import ESCALATE_BELOW, ConfidenceRouter
from rag.stages.cite.by_id import cite_ids, drop_unknown_ids
from rag.stages.gate.exact_or import ExactOr
from rag.stages.gate.thresholds import Coverage
from rag.stages.pack.by_id import IdPacker
from rag.stages.query.request_filter import RequestFilter
from rag.stages.refine.mmr import Mmr
from rag.stages.retrieve.hybrid import HybridRetriever
from rag.stages.score.confidence import Weighted

DECLINE = "I don't know based on the MD."

_SEED = "clockify"
_FORMULA = "docs/architecture.md"


class Knobs(ServiceKnobs):
    """Clockify's numbers. Scores that gate and confidence read are plain cosines; confidence is 0..100."""

    max_query_chars: int = knob(
        10_000, env="MAX_QUERY_LENGTH", doc="Longest question.", unit="characters", source=_SEED, ge=1, le=100_000
    )
    top_k: int = knob(
        15, env=("DEFAULT_TOP_K", "RETRIEVAL_TOP_K"), doc="Candidates.", unit="chunks", source=_SEED, ge=1, le=50
    )
    pack_top: int = knob(8, env="DEFAULT_PACK_TOP", doc="Chunks to pack.", unit="chunks", source=_SEED, ge=1, le=50)
    mmr_lambda: float = knob(
        0.75, env="MMR_LAMBDA", doc="Weight of relevance against diversity.", source=_SEED, ge=0, le=1
    )
    dense_weight: float = knob(
        0.7,
        env="HYBRID_DENSE_WEIGHT",
        doc="Weight of dense search against BM25 before the question's intent moves it.",
        source=_SEED,
        ge=0,
        le=1,
    )
    threshold: float = knob(
        0.25,
        env=("DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"),
        doc="Cosine of a chunk that covers the question.",
        source=_SEED,
        ge=-1,
        le=1,
    )
    min_chunks: int = knob(
        2,
        env="MIN_COVERING_CHUNKS",
        doc="Covering chunks that an answer needs; where fewer are asked for, all of those.",
        unit="chunks",
        source=_SEED,
        ge=1,
        le=50,
    )
    best: float = knob(
        0.4,
        env="MIN_BEST_SIMILARITY",
        doc="Cosine that the best chunk needs; the threshold of the covering ones, where only that was set.",
        source="DESIGN.md, decision 11",
        ge=-1,
        le=1,
    )
    rare_deviations: float = knob(
        3.0,
        env="RARE_WORD_DEVIATIONS",
        doc="Fused score from which a chunk that holds all of a question's plain keywords passes, whatever its cosine.",
        unit="standard deviations",
        source="ADR 13",
        ge=0,
        le=100,
    )
    context_tokens: int = knob(
        12_000,
        env="CTX_TOKEN_BUDGET",
        doc="The model's context, of which a share is packed.",
        unit="tokens",
        source=_SEED,
        ge=200,
        le=2_000_000,
    )
    context_share: float = knob(
        0.6,
        env="CTX_SHARE",
        doc="Share of the context for chunks; the rest is prompt and answer.",
        source=_SEED,
        gt=0,
        le=1,
    )
    llm_model: str = knob(
        "qwen2.5:32b", env=("RAG_CHAT_MODEL", "LLM_MODEL"), doc="The chat model.", source=_SEED, min_length=1
    )
    ollama_url: str = knob(
        "http://127.0.0.1:11434",
        env="RAG_OLLAMA_URL",
        doc="Ollama's address, with or without /v1; setting it switches the LLM on.",
        source=_SEED,
    )
    temperature: float = knob(0.0, env="LLM_TEMPERATURE", doc="Sampling temperature.", source=_SEED, ge=0, le=2)
    max_tokens: int = knob(1000, env="LLM_MAX_TOKENS", doc="Longest completion.", unit="tokens", ge=1, le=100_000)
    connect_timeout_s: float = knob(
        3.0,
        env=("CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"),
        doc="Longest wait for a connection to the LLM.",
        unit="s",
        source=_SEED,
        gt=0,
        le=60,
    )
    read_timeout_s: float = knob(
        120.0,
        env=("CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"),
        doc="Longest wait for a completion; the request's deadline cuts it shorter.",
        unit="s",
        source=_SEED,
        gt=0,
        le=900,
    )
    retries: int = knob(
        1, env="LLM_MAX_RETRIES", doc="Calls after the first one.", unit="calls", source=_SEED, ge=0, le=10
    )
    backoff_base_s: float = knob(
        0.5,
        env="LLM_BACKOFF_BASE_S",
        doc="Wait before the first retry; it doubles.",
        unit="s",
        source=_SEED,
        ge=0,
        le=60,
    )
    backoff_jitter: float = knob(
        0.0, env="LLM_BACKOFF_JITTER", doc="Random share added to a wait.", source=_SEED, ge=0, le=1
    )
    ceiling: float = knob(
        0.75,
        env="CONFIDENCE_FULL_SIMILARITY",
        doc="Best cosine that counts in full; more than MIN_BEST_SIMILARITY, where it begins to count. By default at "
        "least .1 above that.",
        source=_FORMULA,
        ge=0.5,
        le=1,
    )
    uncited_cap: float = knob(
        35,
        env="CONFIDENCE_UNCITED_CAP",
        doc="Highest confidence of an answer without a valid citation.",
        source=_FORMULA,
        ge=0,
        le=100,
    )
    escalate_below: float = knob(
        ESCALATE_BELOW,
        env="ESCALATE_BELOW",
        doc="Confidence below which a person should answer; Medium starts there.",
        source=_SEED,
        ge=0,
        le=100,
    )
    high: float = knob(
        70,
        env="CONFIDENCE_HIGH",
        doc="Confidence from which it is High; where ESCALATE_BELOW is more, that.",
        source=_FORMULA,
        ge=0,
        le=100,
    )

    @field_validator("ceiling")
    @classmethod
    def _above_best(cls, ceiling: float, fields: ValidationInfo) -> float:
        if ceiling <= fields.data.get("best", -1):  # absent where it is wrong itself
            raise ValueError("CONFIDENCE_FULL_SIMILARITY must be more than MIN_BEST_SIMILARITY")
        return ceiling

    @property
    def full_similarity(self) -> float:
        """Where the best cosine counts in full: as set, else at some distance from where it begins to count."""
        return self.ceiling if "ceiling" in self.model_fields_set else max(self.ceiling, self.best + 0.1)

    @property
    def llm_base_url(self) -> str:
        """Ollama's OpenAI-compatible endpoint."""
        return f"{self.ollama_url.rstrip('/').removesuffix('/v1')}/v1"

    @property
    def llm_chosen(self) -> bool:
        """Whether somebody set the LLM's address."""
        return "ollama_url" in self.model_fields_set

    @property
    def gate_count(self) -> int:
        """Covering chunks that an answer needs: no more than there can be."""
        return min(self.min_chunks, self.top_k, self.pack_top)

    @property
    def gate_best(self) -> float:
        """What the best chunk needs: a threshold that a person set decides alone, as every such threshold does."""
        own = self.model_fields_set
        return self.threshold if "threshold" in own and "best" not in own else self.best


def build(knobs: Knobs, inputs: Inputs) -> Pipeline:
    """The seed's stages over ``inputs``."""
    return Pipeline(
        profile="clockify",
        top_k=knobs.top_k,
        decline_text=DECLINE,
        admit=StrictAdmission(knobs.max_query_chars),
        conversation=conversation(knobs, inputs.services),
        query_stages=(RequestFilter(inputs.index.fields),),
        cache=answer_cache(knobs, inputs.services, knobs.gate_best),
        retrieve=HybridRetriever(inputs.index, dense_weight=knobs.dense_weight),
        refine=(Mmr(knobs.mmr_lambda, knobs.pack_top),),
        learn=inputs.services.learn(),
        gate=ExactOr(
            Coverage(knobs.gate_count, knobs.threshold, knobs.gate_best),
            rare=knobs.rare_deviations,
            cosine=knobs.threshold,
        ),
        pack=IdPacker(int(knobs.context_tokens * knobs.context_share), inputs.tokens),
        write=inputs.writer,
        polish=(drop_unknown_ids,),
        cite=cite_ids,
        score=Weighted(
            floor=knobs.best,
            ceiling=knobs.full_similarity,
            uncited_cap=knobs.uncited_cap,
            high=max(knobs.high, knobs.escalate_below),
            medium=knobs.escalate_below,
        ),
        route=ConfidenceRouter(knobs.escalate_below),
        feedback=inputs.services.feedback_log(),
        categories={},
        clock=inputs.clock,
        new_id=inputs.new_id,
    )
