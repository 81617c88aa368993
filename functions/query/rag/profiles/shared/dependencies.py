"""The parts from which a profile builds its pipeline, made by ``rag.wiring`` for one deployment."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rag.answer.check import Judge
from rag.answer.feedback_log import FeedbackLog
from rag.ask.acronyms import AcronymTable
from rag.ask.answer_cache import CacheSlot
from rag.ask.conversation import Conversation, Reframe
from rag.ask.filters import RuleTable
from rag.ask.remarks import Remarks
from rag.find.feedback import FeedbackRefine
from rag.find.pack import ContextWindow
from rag.find.refine import LlmRerank
from rag.ports import ChatModel, FeedbackStore, Index, LayeredAnswers, Memory, Writer
from rag.profiles.shared.settings import ProfileSettings


@dataclass(frozen=True, slots=True)
class Stores:
    """The three stores of one table or file."""

    cache: LayeredAnswers
    memory: Memory
    feedback: FeedbackStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDependencies:
    """The dependencies of all stages. A stage without its store or chat model is None, and its slot stays empty.

    ``acronyms`` and ``rules`` return the deployment's tables, which may be empty. ``clock`` counts seconds
    monotonically; ``new_id`` returns unguessable response ids. ``remarks`` recognises remarks that are no questions;
    None treats every text as a question. ``window`` bounds the passages.

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
    clock: Callable[[], float]
    new_id: Callable[[], str]
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
        """Build the memory of sessions, if there is a store, and the rewriting of questions, if there is an LLM.

        With 0 ``history_turns`` nothing is remembered.
        """
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

    def build_feedback_refine(self) -> FeedbackRefine | None:
        """Build the reordering of hits by the votes on similar questions."""
        if self.stores is None:
            return None
        return FeedbackRefine(store=self.stores.feedback, embed=self.embed, now=time.time)

    def build_rerank(self, model: str, *, budget_s: float, spread: float) -> LlmRerank | None:
        """Build the reordering of close hits by ``model``."""
        if self.chat is None:
            return None
        template = self.prompt("rerank.txt", "question", "passages")
        return LlmRerank(chat=self.deciding_chat(model), template=template, budget_s=budget_s, spread=spread)

    def build_judge(self, *, budget_s: float, selective: bool) -> Judge | None:
        """Build the judge of an answer's claims; it is the model that answers."""
        if self.chat is None:
            return None
        return Judge(
            chat=self.deciding_chat(self.chat.model),
            template=self.prompt("judge.txt", "passages", "statements"),
            budget_s=budget_s,
            selective=selective,
        )

    def build_feedback_log(self) -> FeedbackLog | None:
        """Build the log of responses and votes."""
        if self.stores is None:
            return None
        return FeedbackLog(store=self.stores.feedback, cache=self.stores.cache, embed=self.embed, now=time.time)
