"""The pipeline that every profile begins with; a profile replaces what differs.

By default the index's evidence decides; SEED_RULES=on puts the seed's retriever, gate and confidence in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from knowledge.model.manifest import SEED_RECIPE, Manifest
from rag.answer.check import SupportCheck
from rag.answer.citation_forms import CitationForm
from rag.answer.confidence import ESCALATE_BELOW, CalibratedConfidence, Score, WeightedConfidence
from rag.answer.finish import AnswerFinisher
from rag.ask.admission import PlainAdmission
from rag.ask.filters import RequestFilter
from rag.ask.remarks import Remarks
from rag.errors import ConfigurationError
from rag.find.gate import UNMEASURED_BAR, EvidenceGate, LanguageGate
from rag.find.pack import WindowPacker
from rag.find.refine import newest_editions_first
from rag.find.retrieve import DenseRetriever, HybridRetriever, LateRetriever, cosine_scale
from rag.pipeline import Gate, Pack, Pipeline, QueryStage, Refine
from rag.ports import Index, Retriever
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.settings import ProfileSettings
from rag.write.chat_writer import DoubtfulWriter
from rag.write.extractive import ExtractiveWriter

UNCALIBRATED = WeightedConfidence(floor=UNMEASURED_BAR, ceiling=0.75, high=70, medium=ESCALATE_BELOW)
"""The confidence for an index without calibration, such as a foreign Chroma folder: Clockify's."""
NOT_CUT = (
    "the index is cut at headings, blocks and sentences, not in runs of 1,600 characters with 200 repeated "
    "(ragctl ingest --cut seed)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The seed of a profile: its differences under SEED_RULES=on in words, and whether it says how to cut documents."""

    cuts: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile[S: ProfileSettings]:
    """A system that answers: a line ``about`` it, its settings, its pipeline, and its seed if it follows one."""

    about: str
    settings: type[S]
    build: Callable[[S, StageDependencies], Pipeline]
    seed: Seed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPolicy:
    """The slots of a pipeline that judge the hits.

    ``bar`` is the best cosine (-1..1) from which an answer is cached. ``refine`` runs before the gate, ``order`` after
    it, ``query_stages`` before the profile's own.
    """

    retrieve: Retriever
    refine: tuple[Refine, ...] = ()
    order: tuple[Refine, ...] = ()
    gate: Gate
    score: Score
    bar: float
    remarks: Remarks | None = None
    query_stages: tuple[QueryStage, ...] = ()


def describe_seed_rules(profile: str, seed: Seed, manifest: Manifest | None) -> str:
    """Return how ``profile`` under SEED_RULES=on, over an index with this ``manifest``, differs from its ``seed``."""
    is_cut = not seed.cuts or (manifest is not None and manifest.recipe == SEED_RECIPE)
    notes = (*(() if is_cut else (NOT_CUT,)), *seed.left_out)
    differences = f", but for this: {'; '.join(notes)}" if notes else ""
    return f"SEED_RULES=on: {profile} searches, judges and scores by its seed's numbers{differences}"


def build_pipeline(
    profile: str,
    settings: ProfileSettings,
    dependencies: StageDependencies,
    *,
    seed: RetrievalPolicy | None,
    form: CitationForm,
    pack: Pack,
    before: tuple[QueryStage, ...] = (),
    after: tuple[QueryStage, ...] = (),
) -> Pipeline:
    """Build the stages over ``dependencies``; memory, cache and votes need a store.

    Answers cite in ``form``, which ``pack`` shows to the model. ``before`` and ``after`` are the query stages around
    the request's filter.

    Raises:
        ConfigurationError: SEED_RULES is on, and there is no ``seed``.
    """
    policy = _retrieval_policy(settings, dependencies, seed)
    quotes_doubtful = settings.doubtful == "quote"
    return Pipeline(
        profile=profile,
        top_k=settings.top_k,
        decline_text=settings.decline,
        admit=PlainAdmission(settings.max_query_chars),
        remarks=policy.remarks,
        conversation=dependencies.build_conversation(settings),
        query_stages=(*policy.query_stages, *before, RequestFilter(dependencies.index.fields), *after),
        cache=dependencies.build_answer_cache(settings, policy.bar),
        retrieve=policy.retrieve,
        refine=policy.refine,
        learn=dependencies.build_feedback_refine(),
        order=policy.order,
        gate=policy.gate,
        pack=pack if settings.seed_rules else WindowPacker(pack, dependencies.window),
        write=DoubtfulWriter(dependencies.writer, ExtractiveWriter()) if quotes_doubtful else dependencies.writer,
        quote=ExtractiveWriter() if settings.weak == "quotes" else None,
        answering=_answer_finisher(settings, dependencies, form),
        score=policy.score,
        feedback=dependencies.build_feedback_log(),
        categories={},
        clock=dependencies.clock,
        new_id=dependencies.new_id,
    )


def _retrieval_policy(
    settings: ProfileSettings, dependencies: StageDependencies, seed: RetrievalPolicy | None
) -> RetrievalPolicy:
    if settings.seed_rules:
        if seed is None:
            raise ConfigurationError("SEED_RULES is on, but this profile follows no seed; leave it out")
        return replace(seed, retrieve=_retriever(settings, dependencies.index)) if settings.retriever else seed
    return RetrievalPolicy(
        retrieve=_retriever(settings, dependencies.index),
        order=(newest_editions_first,),
        gate=LanguageGate(EvidenceGate(settings.threshold_or(None), doubts=settings.doubtful != "decline")),
        score=CalibratedConfidence(seed.score if seed else UNCALIBRATED, settings.confidence_shift),
        bar=settings.threshold_or(UNMEASURED_BAR),
        remarks=dependencies.remarks,
        query_stages=(dependencies.remarks.drop_courtesies,) if dependencies.remarks else (),
    )


def _retriever(settings: ProfileSettings, index: Index) -> Retriever:
    if settings.retriever == "dense":
        return DenseRetriever(index, cosine_scale)
    hybrid = HybridRetriever(index, dense_weight=settings.dense_weight)
    return hybrid if settings.retriever == "hybrid" else LateRetriever(index, hybrid)


def _answer_finisher(settings: ProfileSettings, dependencies: StageDependencies, form: CitationForm) -> AnswerFinisher:
    if settings.seed_rules:  # the seeds checked no claims
        return AnswerFinisher(form=form, decline=settings.decline)
    check = SupportCheck(index=dependencies.index, form=form, unsupported=settings.unsupported)
    judge = None
    if settings.check != "off":
        judge = dependencies.build_judge(budget_s=settings.judge_budget_s, selective=settings.check == "auto")
    return AnswerFinisher(form=form, decline=settings.decline, check=check, judge=judge, remarks=dependencies.remarks)
