"""Evidence or the seed's rules: which retriever, gate and confidence a profile gets, and the settings that say so.

DESIGN.md, decision 19. By default the index's evidence decides in every profile; SEED_RULES=on gives each the
numbers, retriever, gate and confidence of its seed. What a person set wins over both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from knowledge.model.manifest import SEED_RECIPE, Manifest
from rag.answer.check import SupportCheck, Unsupported
from rag.answer.citation_forms import CitationForm
from rag.answer.confidence.calibrated import CalibratedConfidence
from rag.answer.confidence.formulas import Weighted
from rag.answer.finish import AnswerFinisher
from rag.answer.route import ESCALATE_BELOW
from rag.config.knobs import Env, Source
from rag.errors import ConfigurationError
from rag.find.gate import UNMEASURED_BAR, EvidenceGate, LanguageGate
from rag.find.refine import newest_editions_first
from rag.find.retrieve import DenseRetriever, HybridRetriever, LateRetriever, cosine_scale
from rag.ports.index import Index, Retriever
from rag.ports.models import Writer
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.service_knobs import DESIGN, OURS, ServiceKnobs, ServiceSource
from rag.slots import Gate, QueryStage, Refine, Remarks, Score
from rag.write.chat_writer import DoubtfulWriter
from rag.write.extractive import ExtractiveWriter

UNCALIBRATED = Weighted(floor=UNMEASURED_BAR, ceiling=0.75, high=70, medium=ESCALATE_BELOW)
"""The confidence of an index that was not calibrated, such as a Chroma folder of somebody else's: Clockify's."""

type Threshold = Literal["auto"] | Annotated[float, Field(ge=-1, le=1)]


class EvidenceSource(ServiceSource):
    """Adds the threshold, whose number under SEED_RULES=on is the seed's."""

    def threshold(self, seed: str, env: Env = "RELEVANCE_THRESHOLD") -> Any:
        """``seed`` says what the seed asks for, in words."""
        doc = (
            "The plain cosine that the best chunk must reach, or auto: the index's own bar, measured at ingest; "
            f"{UNMEASURED_BAR:.2f} where none was measured. Under SEED_RULES=on auto is the seed's: {seed}."
        )
        return self.knob("auto", env, doc, unit="cosine")


class EvidenceKnobs(ServiceKnobs):
    """What decides, in every profile."""

    seed_rules: bool = DESIGN.knob(
        False, "SEED_RULES", "on: the seed's own numbers, retriever, gate and confidence, in place of the evidence."
    )
    retriever: Literal["", "late", "dense", "hybrid"] = DESIGN.knob(
        "",
        "RETRIEVER",
        "late (all signals), dense (by meaning) or hybrid (by meaning and words). Empty: late; under SEED_RULES=on "
        "the seed's.",
    )
    threshold: Threshold = EvidenceSource().threshold("none")
    doubtful: Literal["ask", "quote", "decline"] = DESIGN.knob(
        "ask",
        "DOUBTFUL",
        "What becomes of a question whose evidence is below the index's bar, and above that of 80 % of questions about "
        "nothing: ask the model, quote what comes closest, or decline. Without a model ask is quote. A threshold that "
        "is set, labels and SEED_RULES=on know no doubt.",
    )
    dense_weight: float = Source("clockify").share(
        0.7, "HYBRID_DENSE_WEIGHT", "Weight of dense search against BM25 in the hybrid retriever."
    )

    unsupported: Unsupported = DESIGN.knob(
        "mark",
        "UNSUPPORTED",
        "What becomes of a statement that no passage supports, or that cites none: mark it, remove it, or keep it as "
        "it is. Under SEED_RULES=on nothing is checked.",
    )

    weak: Literal["quotes", "text"] = OURS.knob(
        "quotes",
        "LLM_WEAK",
        "What is given where no statement of a model's answer has any support: quotes of the documents, with the "
        "model's text beside them, or its text. Under SEED_RULES=on nothing is checked, and it is the text.",
    )

    check: Literal["off", "llm", "auto"] = OURS.knob(
        "off",
        "CHECK",
        "Whether the model is asked as a judge, in one call an answer, after its claims were compared with the "
        "passages: off, llm (of all that cite a passage), or auto (of those that are not word for word in one). It may "
        "acquit a claim of all but a missing number or name. No judge without a model, nor under SEED_RULES=on.",
    )
    judge_budget_s: float = OURS.seconds(5.0, "JUDGE_TIMEOUT_S", "Longest wait for the judge.", most=60)

    confidence_shift: float = OURS.knob(
        0.0,
        "CONFIDENCE_SHIFT",
        "What is added to the log odds of the confidence in what a model wrote: above 0 for a model that is more often "
        "faithful than the rated ones that it was fitted on, below 0 for a weaker one.",
        ge=-5,
        le=5,
    )

    def threshold_or[T](self, otherwise: T) -> float | T:
        """The threshold that a person set, else ``otherwise``."""
        return otherwise if self.threshold == "auto" else self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The seed of a profile: its differences under SEED_RULES=on in words, and whether it says how to cut documents."""

    cuts: bool = False
    left_out: tuple[str, ...] = ()


NOT_CUT = (
    "the index is cut at headings, blocks and sentences, not in runs of 1,600 characters with 200 repeated "
    "(ragctl ingest --cut seed)"
)


def seed_note(profile: str, seed: Seed, manifest: Manifest | None) -> str:
    """Return how ``profile`` under SEED_RULES=on, over an index with this ``manifest``, differs from its ``seed``."""
    is_cut = not seed.cuts or (manifest is not None and manifest.recipe == SEED_RECIPE)
    notes = (*(() if is_cut else (NOT_CUT,)), *seed.left_out)
    differences = f", but for this: {'; '.join(notes)}" if notes else ""
    return f"SEED_RULES=on: {profile} searches, judges and scores by its seed's numbers{differences}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPolicy:
    """The slots of a pipeline that judge what is found.

    ``bar`` is the best cosine (-1..1) from which an answer is cached whose confidence is no chance. ``refine`` is what
    the gate is asked after, ``order`` is what comes after it, ``query_stages`` come before
    the profile's own.
    """

    retrieve: Retriever
    refine: tuple[Refine, ...] = ()
    order: tuple[Refine, ...] = ()
    gate: Gate
    score: Score
    bar: float
    remarks: Remarks | None = None
    query_stages: tuple[QueryStage, ...] = ()


def retrieval_policy(
    knobs: EvidenceKnobs, dependencies: StageDependencies, seed: RetrievalPolicy | None
) -> RetrievalPolicy:
    """The ``seed``'s rules where they are asked for, else the evidence.

    Raises:
        ConfigurationError: they are asked for, and there is no seed.
    """
    if knobs.seed_rules:
        if seed is None:
            raise ConfigurationError("SEED_RULES is on, but this profile follows no seed; leave it out")
        return replace(seed, retrieve=_retriever(knobs, dependencies.index)) if knobs.retriever else seed
    return RetrievalPolicy(
        retrieve=_retriever(knobs, dependencies.index),
        order=(newest_editions_first,),
        gate=LanguageGate(EvidenceGate(knobs.threshold_or(None), doubts=knobs.doubtful != "decline")),
        score=CalibratedConfidence(seed.score if seed else UNCALIBRATED, knobs.confidence_shift),
        bar=knobs.threshold_or(UNMEASURED_BAR),
        remarks=dependencies.remarks,
        query_stages=(dependencies.remarks.leave_out,) if dependencies.remarks else (),
    )


def writing(knobs: EvidenceKnobs, dependencies: StageDependencies) -> Writer:
    """Who writes; of doubtful questions the engine that quotes, where no model is to be asked for them."""
    return DoubtfulWriter(dependencies.writer, ExtractiveWriter()) if knobs.doubtful == "quote" else dependencies.writer


def answering(
    knobs: EvidenceKnobs, dependencies: StageDependencies, form: CitationForm, decline: str
) -> AnswerFinisher:
    """What makes an answer of a completion; the seeds checked no statements."""
    if knobs.seed_rules:
        return AnswerFinisher(form=form, decline=decline)
    check = SupportCheck(index=dependencies.index, form=form, unsupported=knobs.unsupported)
    judge = None
    if knobs.check != "off":
        judge = dependencies.stages.judge(budget_s=knobs.judge_budget_s, selective=knobs.check == "auto")
    return AnswerFinisher(form=form, decline=decline, check=check, judge=judge, remarks=dependencies.remarks)


def _retriever(knobs: EvidenceKnobs, index: Index) -> Retriever:
    if knobs.retriever == "dense":
        return DenseRetriever(index, cosine_scale)
    hybrid = HybridRetriever(index, dense_weight=knobs.dense_weight)
    return hybrid if knobs.retriever == "hybrid" else LateRetriever(index, hybrid)
