"""Clockify: the help desk of a time-tracking product."""

from __future__ import annotations

from pydantic import ValidationInfo, field_validator

from rag.config.knobs import Source
from rag.pipeline import Pipeline
from rag.profiles.inputs import Inputs
from rag.profiles.service_knobs import OURS, ServiceKnobs, ServiceSource, answer_cache, conversation
from rag.stages.admit.admission import StrictAdmission
from rag.stages.after.route import ESCALATE_BELOW, ConfidenceRouter
from rag.stages.cite.by_id import cite_ids
from rag.stages.gate.exact_or import ExactOr
from rag.stages.gate.thresholds import Coverage
from rag.stages.pack.by_id import IdPacker
from rag.stages.polish.html_to_markdown import polish_html
from rag.stages.query.where import RequestFilter
from rag.stages.refine.mmr import Mmr
from rag.stages.retrieve.hybrid import HybridRetriever
from rag.stages.score.confidence import Weighted

DECLINE = "I don't know based on the MD."

_SEED = ServiceSource("clockify")
_DOCS = Source("docs/architecture.md")


class Knobs(ServiceKnobs):
    """Clockify's numbers. Scores that gate and confidence read are plain cosines; confidence is 0..100."""

    max_query_chars: int = _SEED.max_query_chars(10_000)
    top_k: int = _SEED.chunks(15, ("DEFAULT_TOP_K", "RETRIEVAL_TOP_K"), "Candidates.")
    pack_top: int = _SEED.chunks(8, "DEFAULT_PACK_TOP", "Chunks to pack.")
    mmr_lambda: float = _SEED.share(0.75, "MMR_LAMBDA", "Weight of relevance against diversity.")
    dense_weight: float = _SEED.share(
        0.7, "HYBRID_DENSE_WEIGHT", "Weight of dense search against BM25 before the question's intent moves it."
    )
    threshold: float = _SEED.cosine(
        0.25, ("DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD"), "Cosine of a chunk that covers the question."
    )
    min_chunks: int = _SEED.chunks(
        2,
        "MIN_COVERING_CHUNKS",
        "Covering chunks that an answer needs; where fewer are asked for, all of those.",
        most=50,
    )
    best: float = Source("DESIGN.md, decision 11").cosine(
        0.4,
        "MIN_BEST_SIMILARITY",
        "Cosine that the best chunk needs; the threshold of the covering ones, where only that was set.",
    )
    rare_deviations: float = Source("ADR 13").knob(
        3.0,
        "RARE_WORD_DEVIATIONS",
        "Fused score from which a chunk that holds all of a question's plain keywords passes, whatever its cosine.",
        unit="standard deviations",
        ge=0,
        le=100,
    )
    context_tokens: int = _SEED.tokens(
        12_000, "CTX_TOKEN_BUDGET", "The model's context, of which a share is packed.", least=200, most=2_000_000
    )
    context_share: float = _SEED.share(
        0.6, "CTX_SHARE", "Share of the context for chunks; the rest is prompt and answer.", above=0
    )
    llm_model: str = _SEED.llm_model("qwen2.5:32b", ("RAG_CHAT_MODEL", "LLM_MODEL"))
    llm_base_url: str = _SEED.knob(
        "http://127.0.0.1:11434",
        "RAG_OLLAMA_URL",
        "Ollama's address, with or without /v1; setting it switches the LLM on.",
        validate_default=True,
    )
    temperature: float = _SEED.temperature(0.0)
    max_tokens: int = OURS.max_tokens(1000)
    connect_timeout_s: float = _SEED.connect_timeout_s(3.0, ("CHAT_CONNECT_TIMEOUT", "LLM_CONNECT_TIMEOUT_S"))
    read_timeout_s: float = _SEED.read_timeout_s(120.0, ("CHAT_READ_TIMEOUT", "LLM_READ_TIMEOUT_S"))
    retries: int = _SEED.retries(1)
    backoff_base_s: float = _SEED.backoff_base_s(0.5)
    backoff_jitter: float = _SEED.backoff_jitter(0.0)
    ceiling: float = _DOCS.knob(
        0.75,
        "CONFIDENCE_FULL_SIMILARITY",
        "Best cosine that counts in full; more than MIN_BEST_SIMILARITY, where it begins to count. By default at "
        "least .1 above that.",
        ge=0.5,
        le=1,
    )
    escalate_below: float = _SEED.percent(
        ESCALATE_BELOW, "ESCALATE_BELOW", "Confidence below which a person should answer; Medium starts there."
    )
    high: float = _DOCS.percent(
        70, "CONFIDENCE_HIGH", "Confidence from which it is High; where ESCALATE_BELOW is more, that."
    )

    @field_validator("llm_base_url")
    @classmethod
    def _openai_compatible(cls, url: str) -> str:
        return f"{url.rstrip('/').removesuffix('/v1')}/v1"

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
    def llm_chosen(self) -> bool:
        """Whether somebody set the LLM's address."""
        return "llm_base_url" in self.model_fields_set

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
        pack=IdPacker(int(knobs.context_tokens * knobs.context_share)),
        write=inputs.writer,
        polish=(polish_html,),
        cite=cite_ids,
        score=Weighted(
            floor=knobs.best,
            ceiling=knobs.full_similarity,
            high=max(knobs.high, knobs.escalate_below),
            medium=knobs.escalate_below,
        ),
        route=ConfidenceRouter(knobs.escalate_below),
        feedback=inputs.services.feedback_log(),
        categories={},
        clock=inputs.clock,
        new_id=inputs.new_id,
    )
