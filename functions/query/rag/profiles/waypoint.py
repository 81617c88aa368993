"""Waypoint: the co-pilot of a freight forwarder's customer service."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

from rag.answer.citation_forms import TitleForm
from rag.answer.confidence.formulas import CountAndMean
from rag.find.gate import AtLeast
from rag.find.pack import BYTES_PER_TOKEN, CHARS_PER_TOKEN, NumberPacker, TitledPacker, disarm_titles
from rag.find.refine import MinScore
from rag.find.retrieve import DenseRetriever, l2_scale
from rag.pipeline import Pipeline
from rag.profiles.shared.base import base
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import EvidenceKnobs, EvidenceSource, RetrievalPolicy, Seed, Threshold
from rag.profiles.shared.service_knobs import DESIGN

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

_SEED = EvidenceSource("waypoint")
_SCALE = "2 cos - 1"
SEED_THRESHOLD = 0.15
SEED = Seed()


class Knobs(EvidenceKnobs):
    """Waypoint's numbers. Its own scores are on the L2 scale, 2 cos - 1."""

    decline: ClassVar[str] = DECLINE
    max_query_chars: int = _SEED.max_query_chars(1000)
    assistant_name: str = DESIGN.assistant_name("Waypoint")
    top_k: int = _SEED.chunks(10, "RETRIEVAL_TOP_K", "Chunks to retrieve.")
    threshold: Threshold = _SEED.threshold(
        "every chunk needs .15 on its scale, 2 cos - 1, and so does a number set here"
    )
    max_context_tokens: int = _SEED.tokens(
        2000, "MAX_CONTEXT_TOKENS", "Context budget, at 4 characters a token.", least=50, most=1_000_000
    )
    llm_model: str = _SEED.llm_model("llama-3.1-8b-instant")
    llm_base_url: str = _SEED.llm_base_url("https://api.groq.com/openai/v1")
    min_dice: float = _SEED.share(0.5, "CITATION_SIMILARITY", "Dice coefficient above which titles match.")
    min_contained: int = DESIGN.characters(
        3,
        "CITATION_MIN_CHARS",
        "Shortest title that may match by standing in another, from the start of a word on.",
        most=100,
    )
    high_count: int = _SEED.chunks(3, "CONFIDENCE_HIGH_CHUNKS", "Chunks for High.", most=None)
    high_mean: float = _SEED.cosine(0.5, "CONFIDENCE_HIGH_SCORE", "Mean score for High.", unit=_SCALE)
    medium_count: int = _SEED.chunks(2, "CONFIDENCE_MEDIUM_CHUNKS", "Chunks for Medium.", most=None)
    medium_mean: float = _SEED.cosine(0.3, "CONFIDENCE_MEDIUM_SCORE", "Mean score for Medium.", unit=_SCALE)


def build(knobs: Knobs, dependencies: StageDependencies) -> Pipeline:
    """The seed's five stages over ``dependencies``."""
    least = knobs.threshold_or(SEED_THRESHOLD)
    seed = RetrievalPolicy(
        retrieve=DenseRetriever(dependencies.index, l2_scale),
        refine=(MinScore(least, l2_scale),),
        gate=AtLeast(1),
        score=CountAndMean(
            high_count=knobs.high_count,
            high_mean=knobs.high_mean,
            medium_count=knobs.medium_count,
            medium_mean=knobs.medium_mean,
        ),
        bar=(least + 1) / 2,
    )
    form = TitleForm(knobs.min_dice, knobs.min_contained, numbered=not knobs.seed_rules)
    chars = knobs.max_context_tokens * CHARS_PER_TOKEN
    numbers = NumberPacker(int(chars / BYTES_PER_TOKEN), form, partial(disarm_titles, form))
    pack = TitledPacker(chars, form) if knobs.seed_rules else numbers
    return replace(base(knobs, dependencies, seed=seed, form=form, pack=pack), categories=CATEGORIES)
