"""GaCounts: the assistant of a university's extension staff."""

from __future__ import annotations

from rag.config.knobs import knob
from rag.pipeline import Pipeline
from rag.profiles.inputs import Inputs
from rag.profiles.service_knobs import ServiceKnobs, answer_cache, cache_knob, conversation, turns_knob
from rag.stages.admit.admission import PlainAdmission
from rag.stages.cite.by_url import UrlCiter, UrlPacker
from rag.stages.gate.thresholds import TopScore
from rag.stages.polish.html import polish_html
from rag.stages.query.expand_acronyms import ExpandAcronyms
from rag.stages.query.request_filter import RequestFilter
from rag.stages.query.rule_filter import RuleFilter
from rag.stages.refine.newer_first import NewerFirst
from rag.stages.retrieve.dense import DenseRetriever, cosine_scale
from rag.stages.score.confidence import TopCosine

LOCAL_MODEL = "all-MiniLM-L6-v2"
OPENAI_URL = "https://api.openai.com/v1"

DECLINE = (
    "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist."
)

_SEED = "gacounts"


class Knobs(ServiceKnobs):
    """GaCounts' numbers. Scores are plain cosines, -1..1."""

    max_query_chars: int = knob(
        1000, env="MAX_QUERY_LENGTH", doc="Longest question.", unit="characters", source="waypoint", ge=1, le=100_000
    )
    top_k: int = knob(8, env="RETRIEVAL_TOP_K", doc="Chunks to retrieve.", unit="chunks", source=_SEED, ge=1, le=50)
    min_similarity: float = knob(
        0.75,
        env=("MIN_SIMILARITY", "RELEVANCE_THRESHOLD"),
        doc="Best cosine that an answer needs, and a cached answer too. With the local embedding model .40, unless "
        "somebody sets it.",
        source=f"{_SEED}; DESIGN.md, decision 11",
        ge=-1,
        le=1,
    )
    recency_width: float = knob(
        0.02, env="RECENCY_WIDTH", doc="Scores that are closer than this go by date.", source=_SEED, ge=0, le=1
    )
    rerank: bool = knob(True, env="ENABLE_LLM_RERANKING", doc="Whether an LLM settles close orders.", source=_SEED)
    rerank_model: str = knob(
        "",
        env="RERANK_MODEL",
        doc="The model that re-ranks. Empty: the seed's gpt-4o-mini at OpenAI, else the chat model.",
    )
    rerank_spread: float = knob(
        0.05, env="RERANK_SCORE_THRESHOLD", doc="Top three within this are re-ranked.", source=_SEED, ge=0, le=1
    )
    rerank_budget_s: float = knob(
        4.0, env="RERANK_TIMEOUT_S", doc="Longest wait for a re-ranking.", unit="s", source="DESIGN.md", gt=0, le=60
    )
    cache: bool = cache_knob(True, _SEED)
    history_turns: int = turns_knob(5)
    context_tokens: int = knob(
        6000, env="MAX_CONTEXT_TOKENS", doc="Context budget.", unit="tokens", source=_SEED, ge=50, le=1_000_000
    )
    draws_on: float = knob(
        0.5,
        env="CITATION_SHARE",
        doc="Share of a sentence's words that a passage must hold to be cited without being named.",
        source="DESIGN.md",
        gt=0,
        le=1,
    )
    high: float = knob(0.8, env="CONFIDENCE_HIGH_SCORE", doc="Best cosine for High.", source=_SEED, ge=-1, le=1)
    medium: float = knob(0.75, env="CONFIDENCE_MEDIUM_SCORE", doc="Best cosine for Medium.", source=_SEED, ge=-1, le=1)
    llm_model: str = knob("gpt-4o", env=("GEN_MODEL", "LLM_MODEL"), doc="The chat model.", source=_SEED, min_length=1)
    llm_base_url: str = knob(OPENAI_URL, env="LLM_BASE_URL", doc="Its OpenAI-compatible endpoint.", source=_SEED)
    temperature: float = knob(0.7, env="LLM_TEMPERATURE", doc="Sampling temperature.", source=_SEED, ge=0, le=2)
    max_tokens: int = knob(1000, env="LLM_MAX_TOKENS", doc="Longest completion.", unit="tokens", ge=1, le=100_000)

    @property
    def prompt_history_chars(self) -> int:
        """Its prompt has a place for the history of a follow-up."""
        return self.history_chars

    @property
    def reranker(self) -> str:
        """The model that re-ranks: another provider than OpenAI does not have the seed's."""
        return self.rerank_model or ("gpt-4o-mini" if self.llm_base_url == OPENAI_URL else self.llm_model)

    def bar(self, embedding_model: str) -> float:
        """The cosine that the best chunk needs: the seed's .75 is that of the seed's embedding model."""
        by_hand = "min_similarity" in self.model_fields_set
        return 0.4 if embedding_model == LOCAL_MODEL and not by_hand else self.min_similarity


def build(knobs: Knobs, inputs: Inputs) -> Pipeline:
    """The seed's stages over ``inputs``."""
    bar = knobs.bar(inputs.embedding_model)
    services = inputs.services
    return Pipeline(
        profile="gacounts",
        top_k=knobs.top_k,
        decline_text=DECLINE,
        admit=PlainAdmission(knobs.max_query_chars),
        conversation=conversation(knobs, services),
        query_stages=(
            ExpandAcronyms(inputs.acronyms),
            RequestFilter(inputs.index.fields),
            RuleFilter(inputs.rules, inputs.index.fields),
        ),
        cache=answer_cache(knobs, services, bar),
        retrieve=DenseRetriever(inputs.index, cosine_scale),
        learn=services.learn(),
        order=(NewerFirst(knobs.recency_width),),
        rerank=services.rerank(knobs.reranker, budget_s=knobs.rerank_budget_s, spread=knobs.rerank_spread)
        if knobs.rerank
        else None,
        gate=TopScore(bar),
        pack=UrlPacker(knobs.context_tokens, inputs.tokens),
        write=inputs.writer,
        polish=(polish_html,),
        cite=UrlCiter(knobs.draws_on),
        score=TopCosine(knobs.high, knobs.medium),
        feedback=services.feedback_log(),
        categories={},
        clock=inputs.clock,
        new_id=inputs.new_id,
    )
