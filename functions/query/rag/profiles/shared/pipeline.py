"""The parts that ``rag.wiring`` makes for one deployment, and the pipeline that every profile builds from them.

A profile replaces the stages that differ. By default the index's evidence decides; SEED_RULES=on puts the seed's
retriever, gate and confidence in its place.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from knowledge.model.manifest import SEED_RECIPE, Manifest
from rag.answer.check import Judge, SupportCheck
from rag.answer.citation_forms import CitationForm
from rag.answer.confidence import ESCALATE_BELOW, CalibratedConfidence, Score, WeightedConfidence
from rag.answer.feedback_log import FeedbackLog
from rag.answer.finish import AnswerFinisher
from rag.ask.acronyms import AcronymTable
from rag.ask.admission import PlainAdmission
from rag.ask.answer_cache import CacheSlot
from rag.ask.conversation import Conversation, Reframe
from rag.ask.filters import RequestFilter, RuleTable
from rag.ask.remarks import Remarks
from rag.errors import ConfigurationError
from rag.find.feedback import FeedbackRefine
from rag.find.gate import UNMEASURED_BAR, EvidenceGate
from rag.find.pack import ContextWindow, WindowPacker
from rag.find.refine import LlmRerank, newest_editions_first
from rag.find.retrieve import DenseRetriever, HybridRetriever, LateRetriever, cosine_scale
from rag.pipeline import Gate, Pack, Pipeline, QueryStage, Refine
from rag.ports import ChatModel, FeedbackStore, Index, LayeredAnswers, Memory, Retriever, Writer
from rag.profiles.shared.settings import ProfileSettings
from rag.write.chat_writer import DoubtfulWriter
from rag.write.extractive import ExtractiveWriter

UNCALIBRATED = WeightedConfidence(floor=UNMEASURED_BAR, ceiling=0.75, high=70, medium=ESCALATE_BELOW)
"""The confidence for an index without calibration, such as a foreign Chroma folder: Clockify's."""
NOT_CUT = (
    "the index is cut at headings, blocks and sentences, not in runs of 1,600 characters with 200 repeated "
    "(ragctl ingest --cut seed)"
)


@dataclass(frozen=True, slots=True)
class Stores:
    """The three stores of one table or file."""

    cache: LayeredAnswers
    memory: Memory
    feedback: FeedbackStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDependencies:
    """The dependencies of all stages. A stage without its store or chat model is None, and its slot stays empty.

    ``acronyms`` and ``rules`` return the deployment's tables, which may be empty. ``remarks`` recognises remarks that
    are no questions; None treats every text as a question. ``window`` bounds the passages.

    ``stores`` and ``chat`` are None if none is configured. ``deciding_chat`` builds the chat model of a name for
    decisions, ``prompt`` loads a template by file name and placeholders. ``scope`` returns the inputs of a cached
    answer beside the question and the index, ``version`` that of the index. ``embed`` returns a question's unit
    vector, ``language_unlike`` the name of the documents' language if a text is in another. ``embed_ahead`` starts an
    embedding that calls another machine (else None).
    """

    index: Index
    writer: Writer
    acronyms: Callable[[], AcronymTable]
    rules: Callable[[], RuleTable]
    remarks: Remarks | None = None
    window: ContextWindow = field(default_factory=ContextWindow)
    stores: Stores | None
    chat: ChatModel | None
    deciding_chat: Callable[[str], ChatModel]
    prompt: Callable[..., str]
    scope: Callable[[], Mapping[str, object]]
    version: Callable[[], str]
    embed: Callable[[str], np.ndarray]
    language_unlike: Callable[[str], str]
    embed_ahead: Callable[[str], None] | None = None

    def build_conversation(self, settings: ProfileSettings) -> Conversation:
        """Build the memory of sessions, if there is a store, and the rewriting of questions, if there is an LLM."""
        reframe = None
        if self.chat:
            reframe = Reframe(
                chat=self.deciding_chat(self.chat.model),
                template=self.prompt("reframe.txt", "history", "question", "language"),
                decline=settings.decline,
                budget_s=settings.reframe_budget_s,
                history_chars=settings.history_chars,
                language_unlike=self.language_unlike,
            )
        return Conversation(
            memory=self.stores.memory if self.stores and settings.history_turns else None,
            reframe=reframe,
            decline=settings.decline,
            turns=settings.history_turns,
            new_session=lambda: secrets.token_urlsafe(24),
            now=time.time,
        )

    def build_answer_cache(self, settings: ProfileSettings, bar: float) -> CacheSlot | None:
        """Build the cache of answers; ``bar`` is the lowest top cosine (-1..1) of an answer that it stores."""
        if self.stores is None or not settings.cache:
            return None
        feedback = self.stores.feedback
        return CacheSlot(
            store=self.stores.cache,
            scope=self.scope,
            version=self.version,
            bar=bar,
            recent_negative=lambda key, since: feedback.recent_negative(key, since=since),
            embed=self.embed,
            now=time.time,
            embed_ahead=self.embed_ahead,
        )

    def build_rerank(self, model: str, *, budget_s: float, spread: float) -> LlmRerank | None:
        """Build the reordering of close hits by ``model``."""
        if self.chat is None:
            return None
        template = self.prompt("rerank.txt", "question", "passages")
        return LlmRerank(chat=self.deciding_chat(model), template=template, budget_s=budget_s, spread=spread)


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
    writer = dependencies.writer
    learn = feedback = None
    if stores := dependencies.stores:
        embed = dependencies.embed
        learn = FeedbackRefine(store=stores.feedback, embed=embed, now=time.time)
        feedback = FeedbackLog(store=stores.feedback, cache=stores.cache, embed=embed, now=time.time)
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
        learn=learn,
        order=policy.order,
        gate=policy.gate,
        pack=pack if settings.seed_rules else WindowPacker(pack, dependencies.window),
        write=DoubtfulWriter(writer, ExtractiveWriter()) if settings.doubtful == "quote" else writer,
        quote=ExtractiveWriter() if settings.weak == "quotes" else None,
        answering=_answer_finisher(settings, dependencies, form),
        score=policy.score,
        feedback=feedback,
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
        gate=EvidenceGate(settings.threshold_or(None), doubts=settings.doubtful != "decline"),
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
    if settings.check != "off" and dependencies.chat:  # the model that answers also judges
        judge = Judge(
            chat=dependencies.deciding_chat(dependencies.chat.model),
            template=dependencies.prompt("judge.txt", "passages", "statements"),
            budget_s=settings.judge_budget_s,
            selective=settings.check == "auto",
        )
    return AnswerFinisher(form=form, decline=settings.decline, check=check, judge=judge, remarks=dependencies.remarks)
