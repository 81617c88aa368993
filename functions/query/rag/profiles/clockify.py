"""Clockify: the help desk of a time-tracking product."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import field_validator

from rag.answer.citation_forms import IdForm
from rag.answer.route import ConfidenceRouter
from rag.ask.admit.admission import StrictAdmission
from rag.config.knobs import Source
from rag.find.gate import UNMEASURED_BAR, Coverage
from rag.find.pack import IdPacker, NumberPacker, disarm_ids
from rag.find.refine import Mmr
from rag.find.retrieve import HybridRetriever
from rag.pipeline import Pipeline
from rag.profiles.shared.base import base
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import UNCALIBRATED, EvidenceKnobs, EvidenceSource, RetrievalPolicy, Seed, Threshold
from rag.profiles.shared.service_knobs import OURS

DECLINE = "I don't know based on the MD."

_SEED = EvidenceSource("clockify")
SEED_THRESHOLD = 0.25
SEED = Seed(
    cuts=True,
    left_out=(
        "questions and documents are embedded by the index's model, not by nomic-embed-text",
        "BM25 counts 30 % for every question: the seed names an intent-aware weight and does not say how it is chosen",
        "the weights of the confidence's four parts are ours: the seed names the parts alone",
    ),
)
_DOCS = Source("docs/architecture.md")


class Knobs(EvidenceKnobs):
    """Clockify's numbers. Scores that gate and confidence read are plain cosines; confidence is 0..100."""

    decline: ClassVar[str] = DECLINE
    max_query_chars: int = _SEED.max_query_chars(10_000)
    assistant_name: str = OURS.assistant_name("Clockify help")
    top_k: int = _SEED.chunks(15, ("DEFAULT_TOP_K", "RETRIEVAL_TOP_K"), "Candidates.")
    pack_top: int = _SEED.chunks(8, "DEFAULT_PACK_TOP", "Chunks to pack.")
    mmr_lambda: float = _SEED.share(0.75, "MMR_LAMBDA", "Weight of relevance against diversity.")
    threshold: Threshold = _SEED.threshold(
        "MIN_COVERING_CHUNKS chunks need .25", ("DEFAULT_THRESHOLD", "RELEVANCE_THRESHOLD")
    )
    min_chunks: int = _SEED.chunks(
        2,
        "MIN_COVERING_CHUNKS",
        "Chunks that must reach the threshold under SEED_RULES=on; where fewer are asked for, all of those.",
        most=50,
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
    full_similarity: float = _DOCS.knob(
        UNCALIBRATED.ceiling,
        "CONFIDENCE_FULL_SIMILARITY",
        f"Best cosine that counts in full in the seed's confidence; it begins to count at {UNMEASURED_BAR:.2f}.",
        ge=0.5,
        le=1,
    )
    escalate_below: float = _SEED.percent(
        UNCALIBRATED.medium,
        "ESCALATE_BELOW",
        "Confidence below which a person should answer, and no answer is more than Low. Medium begins at 50, in the "
        "seed's confidence here.",
    )
    high: float = _DOCS.percent(
        UNCALIBRATED.high,
        "CONFIDENCE_HIGH",
        "Score from which the seed's confidence is High; where ESCALATE_BELOW is more, that. Without SEED_RULES High "
        "begins at 75.",
    )

    @field_validator("llm_base_url")
    @classmethod
    def _openai_compatible(cls, url: str) -> str:
        return f"{url.rstrip('/').removesuffix('/v1')}/v1"

    @property
    def llm_chosen(self) -> bool:
        """Whether somebody set the LLM's address."""
        return "llm_base_url" in self.model_fields_set

    @property
    def gate_count(self) -> int:
        """Covering chunks that an answer needs: no more than there can be."""
        return min(self.min_chunks, self.top_k, self.pack_top)


def build(knobs: Knobs, dependencies: StageDependencies) -> Pipeline:
    """The seed's stages over ``dependencies``."""
    least = knobs.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=HybridRetriever(dependencies.index, dense_weight=knobs.dense_weight),
        gate=Coverage(knobs.gate_count, least),
        score=replace(
            UNCALIBRATED,
            ceiling=knobs.full_similarity,
            high=max(knobs.high, knobs.escalate_below),
            medium=knobs.escalate_below,
        ),
        bar=least,
    )
    form = IdForm(numbered=not knobs.seed_rules)
    tokens = int(knobs.context_tokens * knobs.context_share)
    pack = IdPacker(tokens) if knobs.seed_rules else NumberPacker(tokens, form, disarm_ids)
    return replace(
        base(knobs, dependencies, seed=seed, form=form, pack=pack),
        admit=StrictAdmission(knobs.max_query_chars),
        refine=(Mmr(knobs.mmr_lambda, knobs.pack_top),),
        route=ConfidenceRouter(knobs.escalate_below),
    )
