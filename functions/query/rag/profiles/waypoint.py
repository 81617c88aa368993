"""Waypoint: the co-pilot of a freight forwarder's customer service."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar

from rag.answer.citation_forms import TitleForm
from rag.answer.confidence import CountAndMeanConfidence
from rag.config.fields import DESIGN, WAYPOINT, Characters, Cosine, Share, UnitName, env
from rag.find.gate import require_hit
from rag.find.pack import BYTES_PER_TOKEN, CHARS_PER_TOKEN, NumberPacker, TitledPacker, disarm_titles
from rag.find.refine import MinScore
from rag.find.retrieve import DenseRetriever, l2_scale
from rag.pipeline import Pipeline
from rag.profiles.shared import settings as shared
from rag.profiles.shared.pipeline import Profile, RetrievalPolicy, Seed, StageDependencies, build_pipeline

CATEGORIES = {
    "01_regulatory": "regulatory",
    "02_carriers": "carrier",
    "03_reference": "reference",
    "04_internal_synthetic": "internal",
}

CHUNKS = UnitName("chunks")
L2_SCALE = UnitName("2 cos - 1")
SEED_THRESHOLD = 0.15
SEED = Seed()


class WaypointSettings(shared.ProfileSettings):
    """Waypoint's settings. Its own scores are on the L2 scale, 2 cos - 1."""

    decline: ClassVar[str] = shared.SEED_DECLINE
    max_query_chars: Annotated[shared.MaxQueryChars, WAYPOINT] = 1000
    assistant_name: Annotated[shared.AssistantName, DESIGN] = "Waypoint"
    top_k: Annotated[shared.TopK, WAYPOINT] = 10
    threshold: Annotated[shared.Threshold, env("RELEVANCE_THRESHOLD"), WAYPOINT] = "auto"
    """The plain cosine that the best chunk must reach, or auto: the index's own bar, measured at ingest; 0.40 where
    none was measured. Under SEED_RULES=on auto is the seed's: every chunk needs .15 on its scale, 2 cos - 1, and so
    does a number set here."""
    max_context_tokens: Annotated[shared.ContextTokens, WAYPOINT] = 2000
    """Context budget, at 4 characters a token."""
    llm_model: Annotated[shared.LlmModel, WAYPOINT] = "llama-3.1-8b-instant"
    llm_base_url: Annotated[shared.LlmBaseUrl, WAYPOINT] = "https://api.groq.com/openai/v1"
    min_dice: Annotated[Share, env("CITATION_SIMILARITY"), WAYPOINT] = 0.5
    """Dice coefficient above which titles match."""
    min_contained: Annotated[Characters, env("CITATION_MIN_CHARS", ge=1, le=100), DESIGN] = 3
    """Shortest title that may match by standing in another, from the start of a word on."""
    high_count: Annotated[int, CHUNKS, env("CONFIDENCE_HIGH_CHUNKS", ge=1), WAYPOINT] = 3
    """Chunks for High."""
    high_mean: Annotated[Cosine, L2_SCALE, env("CONFIDENCE_HIGH_SCORE"), WAYPOINT] = 0.5
    """Mean score for High."""
    medium_count: Annotated[int, CHUNKS, env("CONFIDENCE_MEDIUM_CHUNKS", ge=1), WAYPOINT] = 2
    """Chunks for Medium."""
    medium_mean: Annotated[Cosine, L2_SCALE, env("CONFIDENCE_MEDIUM_SCORE"), WAYPOINT] = 0.3
    """Mean score for Medium."""


def build(settings: WaypointSettings, dependencies: StageDependencies) -> Pipeline:
    """Build the seed's five stages over ``dependencies``."""
    threshold = settings.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=DenseRetriever(dependencies.index, l2_scale),
        refine=(MinScore(threshold, l2_scale),),
        gate=require_hit,
        score=CountAndMeanConfidence(
            high_count=settings.high_count,
            high_mean=settings.high_mean,
            medium_count=settings.medium_count,
            medium_mean=settings.medium_mean,
        ),
        bar=(threshold + 1) / 2,
    )
    form = TitleForm(settings.min_dice, settings.min_contained, numbered=not settings.seed_rules)
    chars = settings.max_context_tokens * CHARS_PER_TOKEN
    numbers = NumberPacker(int(chars / BYTES_PER_TOKEN), form, partial(disarm_titles, form))
    pack = TitledPacker(chars, form) if settings.seed_rules else numbers
    return replace(
        build_pipeline("waypoint", settings, dependencies, seed=seed, form=form, pack=pack), categories=CATEGORIES
    )


PROFILE = Profile("Waypoint: the co-pilot of a freight forwarder's customer service.", WaypointSettings, build, SEED)
