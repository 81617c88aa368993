"""GaCounts: the assistant of a university's extension staff."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rag.answer.citation_forms import SourceForm
from rag.answer.confidence.formulas import TopCosine
from rag.ask.query.acronyms import ExpandAcronyms
from rag.ask.query.filter_rules import RuleFilter
from rag.find.gate import TopScore
from rag.find.pack import NumberPacker, UrlPacker, disarm_sources
from rag.find.refine import NewerFirst
from rag.find.retrieve import DenseRetriever, cosine_scale
from rag.pipeline import Pipeline
from rag.profiles.shared.base import base
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import EvidenceKnobs, EvidenceSource, RetrievalPolicy, Seed, Threshold
from rag.profiles.shared.service_knobs import DESIGN, OURS, ServiceSource

OPENAI_URL = "https://api.openai.com/v1"

DECLINE = (
    "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist."
)

_SEED = EvidenceSource("gacounts")
SEED_THRESHOLD = 0.75
SEED = Seed(left_out=("questions and documents are embedded by the index's model, not by text-embedding-3-large",))


class Knobs(EvidenceKnobs):
    """GaCounts' numbers. Scores are plain cosines, -1..1."""

    decline: ClassVar[str] = DECLINE
    max_query_chars: int = ServiceSource("waypoint").max_query_chars(1000)
    assistant_name: str = DESIGN.assistant_name("GaCounts")
    top_k: int = _SEED.chunks(8, "RETRIEVAL_TOP_K", "Chunks to retrieve.")
    threshold: Threshold = _SEED.threshold("the best chunk needs .75", ("MIN_SIMILARITY", "RELEVANCE_THRESHOLD"))
    recency_width: float = _SEED.share(0.02, "RECENCY_WIDTH", "Scores that are closer than this go by date.")
    rerank: bool = _SEED.knob(True, "ENABLE_LLM_RERANKING", "Whether an LLM settles close orders.")
    rerank_model: str = OURS.knob(
        "", "RERANK_MODEL", "The model that re-ranks. Empty: the seed's gpt-4o-mini at OpenAI, else the chat model."
    )
    rerank_spread: float = _SEED.share(0.05, "RERANK_SCORE_THRESHOLD", "Top three within this are re-ranked.")
    rerank_budget_s: float = DESIGN.seconds(4.0, "RERANK_TIMEOUT_S", "Longest wait for a re-ranking.", most=60)
    cache: bool = _SEED.cache(True)
    context_tokens: int = _SEED.tokens(6000, "MAX_CONTEXT_TOKENS", "Context budget.", least=50, most=1_000_000)
    draws_on: float = DESIGN.share(
        0.5,
        "CITATION_SHARE",
        "Share of a sentence's words that a passage must hold to be cited without being named.",
        above=0,
    )
    high: float = _SEED.cosine(0.8, "CONFIDENCE_HIGH_SCORE", "Best cosine for High.")
    medium: float = _SEED.cosine(0.75, "CONFIDENCE_MEDIUM_SCORE", "Best cosine for Medium.")
    llm_model: str = _SEED.llm_model("gpt-4o", ("GEN_MODEL", "LLM_MODEL"))
    llm_base_url: str = _SEED.llm_base_url(OPENAI_URL)
    temperature: float = _SEED.temperature(0.7)
    max_tokens: int = OURS.max_tokens(1000)

    @property
    def prompt_history_chars(self) -> int:
        """Its prompt has a place for the conversation."""
        return self.history_chars

    @property
    def reranker(self) -> str:
        """The model that re-ranks: another provider than OpenAI does not have the seed's."""
        return self.rerank_model or ("gpt-4o-mini" if self.llm_base_url == OPENAI_URL else self.llm_model)


def build(knobs: Knobs, dependencies: StageDependencies) -> Pipeline:
    """The seed's stages over ``dependencies``."""
    bar = knobs.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=DenseRetriever(dependencies.index, cosine_scale),
        gate=TopScore(bar),
        score=TopCosine(knobs.high, knobs.medium),
        bar=bar,
    )
    form = SourceForm(knobs.draws_on, numbered=not knobs.seed_rules)
    numbers = NumberPacker(knobs.context_tokens, form, disarm_sources)
    pipeline = base(
        knobs,
        dependencies,
        seed=seed,
        form=form,
        pack=UrlPacker(knobs.context_tokens) if knobs.seed_rules else numbers,
        before=(ExpandAcronyms(dependencies.acronyms),),
        after=(RuleFilter(dependencies.rules, dependencies.index.fields, wall=knobs.seed_rules),),
    )
    rerank = dependencies.stages.rerank(knobs.reranker, budget_s=knobs.rerank_budget_s, spread=knobs.rerank_spread)
    return replace(
        pipeline, order=(NewerFirst(knobs.recency_width), *pipeline.order), rerank=rerank if knobs.rerank else None
    )
