"""GaCounts: the assistant of a university's extension staff."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from rag.answer.citation_forms import SourceForm
from rag.answer.confidence import TopCosineConfidence
from rag.ask.acronyms import ExpandAcronyms
from rag.ask.filters import RuleFilter
from rag.config.fields import DESIGN, GACOUNTS, WAYPOINT, Cosine, PositiveShare, Seconds, Share, env
from rag.find.gate import TopScore
from rag.find.pack import NumberPacker, UrlPacker, disarm_sources
from rag.find.refine import NewerFirst
from rag.find.retrieve import DenseRetriever, cosine_scale
from rag.pipeline import Pipeline
from rag.profiles.shared import settings as shared
from rag.profiles.shared.pipeline import Profile, RetrievalPolicy, Seed, StageDependencies, build_pipeline

OPENAI_URL = "https://api.openai.com/v1"

SEED_THRESHOLD = 0.75
SEED = Seed(left_out=("questions and documents are embedded by the index's model, not by text-embedding-3-large",))


class GaCountsSettings(shared.ProfileSettings):
    """GaCounts' settings. Scores are plain cosines, -1..1."""

    decline: ClassVar[str] = shared.SEED_DECLINE
    max_query_chars: Annotated[shared.MaxQueryChars, WAYPOINT] = 1000
    assistant_name: Annotated[shared.AssistantName, DESIGN] = "GaCounts"
    top_k: Annotated[shared.TopK, GACOUNTS] = 8
    threshold: Annotated[shared.Threshold, env("MIN_SIMILARITY", "RELEVANCE_THRESHOLD"), GACOUNTS] = "auto"
    """The plain cosine that the best chunk must reach, or auto: the index's own bar, measured at ingest; 0.40 where
    none was measured. Under SEED_RULES=on auto is the seed's: the best chunk needs .75."""
    recency_width: Annotated[shared.RecencyWidth, GACOUNTS] = 0.02
    """Scores that are closer than this go by date."""
    rerank: Annotated[bool, env("ENABLE_LLM_RERANKING"), GACOUNTS] = True
    """Whether an LLM settles close orders."""
    rerank_model: Annotated[str, env("RERANK_MODEL")] = ""
    """The model that re-ranks. Empty: the seed's gpt-4o-mini at OpenAI, else the chat model."""
    rerank_spread: Annotated[Share, env("RERANK_SCORE_THRESHOLD"), GACOUNTS] = 0.05
    """Top three within this are re-ranked."""
    rerank_budget_s: Annotated[Seconds, env("RERANK_TIMEOUT_S", le=60), DESIGN] = 4.0
    """Longest wait for a re-ranking."""
    cache: Annotated[shared.CacheSwitch, GACOUNTS] = True
    context_tokens: Annotated[shared.ContextTokens, GACOUNTS] = 6000
    """Context budget."""
    draws_on: Annotated[PositiveShare, env("CITATION_SHARE"), DESIGN] = 0.5
    """Share of a sentence's words that a passage must hold to be cited without being named."""
    high: Annotated[Cosine, env("CONFIDENCE_HIGH_SCORE"), GACOUNTS] = 0.8
    """Best cosine for High."""
    medium: Annotated[Cosine, env("CONFIDENCE_MEDIUM_SCORE"), GACOUNTS] = 0.75
    """Best cosine for Medium."""
    llm_model: Annotated[shared.LlmModel, env("GEN_MODEL", "LLM_MODEL"), GACOUNTS] = "gpt-4o"
    llm_base_url: Annotated[shared.LlmBaseUrl, GACOUNTS] = OPENAI_URL
    temperature: Annotated[shared.Temperature, GACOUNTS] = 0.7
    max_tokens: shared.MaxTokens = 1000

    @property
    def prompt_history_chars(self) -> int:
        """The longest history in the prompt, which has a place for it."""
        return self.history_chars


def build(settings: GaCountsSettings, dependencies: StageDependencies) -> Pipeline:
    """Build the seed's stages over ``dependencies``."""
    threshold = settings.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=DenseRetriever(dependencies.index, cosine_scale),
        gate=TopScore(threshold),
        score=TopCosineConfidence(settings.high, settings.medium),
        bar=threshold,
    )
    form = SourceForm(settings.draws_on, numbered=not settings.seed_rules)
    numbers = NumberPacker(settings.context_tokens, form, disarm_sources)
    pipeline = build_pipeline(
        "gacounts",
        settings,
        dependencies,
        seed=seed,
        form=form,
        pack=UrlPacker(settings.context_tokens) if settings.seed_rules else numbers,
        before=(ExpandAcronyms(dependencies.acronyms),),
        after=(RuleFilter(dependencies.rules, dependencies.index.fields, wall=settings.seed_rules),),
    )
    seed_model = "gpt-4o-mini" if settings.llm_base_url == OPENAI_URL else settings.llm_model
    rerank = dependencies.build_rerank(
        settings.rerank_model or seed_model, budget_s=settings.rerank_budget_s, spread=settings.rerank_spread
    )
    return replace(
        pipeline,
        order=(NewerFirst(settings.recency_width), *pipeline.order),
        rerank=rerank if settings.rerank else None,
    )


PROFILE = Profile("GaCounts: the assistant of a university's extension staff.", GaCountsSettings, build, SEED)
