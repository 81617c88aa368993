"""Waypoint: the co-pilot of a freight forwarder's customer service."""

from __future__ import annotations

from rag.config.knobs import knob
from rag.pipeline import Pipeline
from rag.profiles.inputs import Inputs
from rag.profiles.service_knobs import ServiceKnobs, answer_cache, conversation
from rag.stages.admit.admission import PlainAdmission
from rag.stages.cite.by_title import TitleCiter
from rag.stages.gate.thresholds import AtLeast
from rag.stages.pack.by_title import TitledPacker
from rag.stages.pack.tokens import CHARS_PER_TOKEN
from rag.stages.query.request_filter import RequestFilter
from rag.stages.refine.min_score import MinScore
from rag.stages.retrieve.dense import DenseRetriever, l2_scale
from rag.stages.score.confidence import CountAndMean

CATEGORIES = {
    "01_regulatory": "regulatory",
    "02_carriers": "carrier",
    "03_reference": "reference",
    "04_internal_synthetic": "internal",
}

DECLINE = (
    "I don't have specific information about that in the knowledge base. "
    "Please rephrase your question or contact a specialist."
)

_SEED = "waypoint"


class Knobs(ServiceKnobs):
    """Waypoint's numbers. Scores are on the L2 scale, 2 cos - 1."""

    max_query_chars: int = knob(
        1000, env="MAX_QUERY_LENGTH", doc="Longest question.", unit="characters", source=_SEED, ge=1, le=100_000
    )
    top_k: int = knob(10, env="RETRIEVAL_TOP_K", doc="Chunks to retrieve.", unit="chunks", source=_SEED, ge=1, le=50)
    threshold: float = knob(
        0.15, env="RELEVANCE_THRESHOLD", doc="Lowest score that counts.", unit="2 cos - 1", source=_SEED, ge=-1, le=1
    )
    max_context_tokens: int = knob(
        2000,
        env="MAX_CONTEXT_TOKENS",
        doc="Context budget, at 4 characters a token.",
        unit="tokens",
        source=_SEED,
        ge=50,
        le=1_000_000,
    )
    llm_model: str = knob("llama-3.1-8b-instant", env="LLM_MODEL", doc="The chat model.", source=_SEED, min_length=1)
    llm_base_url: str = knob(
        "https://api.groq.com/openai/v1", env="LLM_BASE_URL", doc="Its OpenAI-compatible endpoint.", source=_SEED
    )
    min_dice: float = knob(
        0.5, env="CITATION_SIMILARITY", doc="Dice coefficient above which titles match.", source=_SEED, ge=0, le=1
    )
    min_contained: int = knob(
        3,
        env="CITATION_MIN_CHARS",
        doc="Shortest title that may match by standing in another, from the start of a word on.",
        unit="characters",
        source="DESIGN.md",
        ge=1,
        le=100,
    )
    high_count: int = knob(3, env="CONFIDENCE_HIGH_CHUNKS", doc="Chunks for High.", unit="chunks", source=_SEED, ge=1)
    high_mean: float = knob(
        0.5, env="CONFIDENCE_HIGH_SCORE", doc="Mean score for High.", unit="2 cos - 1", source=_SEED, ge=-1, le=1
    )
    medium_count: int = knob(
        2, env="CONFIDENCE_MEDIUM_CHUNKS", doc="Chunks for Medium.", unit="chunks", source=_SEED, ge=1
    )
    medium_mean: float = knob(
        0.3, env="CONFIDENCE_MEDIUM_SCORE", doc="Mean score for Medium.", unit="2 cos - 1", source=_SEED, ge=-1, le=1
    )

    @property
    def min_cosine(self) -> float:
        """``threshold`` as a cosine: below it no chunk counts, and no answer is cached."""
        return (self.threshold + 1) / 2


def build(knobs: Knobs, inputs: Inputs) -> Pipeline:
    """The seed's five stages over ``inputs``."""
    return Pipeline(
        profile="waypoint",
        top_k=knobs.top_k,
        decline_text=DECLINE,
        admit=PlainAdmission(knobs.max_query_chars),
        conversation=conversation(knobs, inputs.services),
        query_stages=(RequestFilter(inputs.index.fields),),
        cache=answer_cache(knobs, inputs.services, knobs.min_cosine),
        retrieve=DenseRetriever(inputs.index, l2_scale),
        refine=(MinScore(knobs.threshold),),
        learn=inputs.services.learn(),
        gate=AtLeast(1),
        pack=TitledPacker(knobs.max_context_tokens * CHARS_PER_TOKEN),
        write=inputs.writer,
        cite=TitleCiter(knobs.min_dice, knobs.min_contained),
        score=CountAndMean(
            high_count=knobs.high_count,
            high_mean=knobs.high_mean,
            medium_count=knobs.medium_count,
            medium_mean=knobs.medium_mean,
        ),
        feedback=inputs.services.feedback_log(),
        categories=CATEGORIES,
        clock=inputs.clock,
        new_id=inputs.new_id,
    )
