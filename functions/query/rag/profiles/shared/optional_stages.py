"""The optional services of a pipeline: memory, cache, feedback, re-ranking, a judge, each there when what it needs is.

A profile asks for what it has a slot for; without a store, or without an LLM, it gets None and the slot stays empty.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rag.answer.feedback_log import FeedbackLog
from rag.answer.judge import Judge
from rag.ask.cache.answer_cache import CacheSlot
from rag.ask.conversation.conversation import Conversation
from rag.ask.conversation.reframe import Reframe
from rag.find.feedback import FeedbackKnobs, FeedbackRefine
from rag.find.rerank import LlmRerank
from rag.ports.models import ChatModel
from rag.ports.stores import FeedbackStore, LayeredAnswers, Memory


@dataclass(frozen=True, slots=True)
class Stores:
    """The three stores of one table or file."""

    cache: LayeredAnswers
    memory: Memory
    feedback: FeedbackStore


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalStages:
    """Makes the stages that need a store or a chat model.

    ``stores`` is None where none is configured, ``chat`` where there is no LLM; ``deciding_chat`` gives the chat model
    of a name for what it decides, ``prompt`` a template by its file's name and its placeholders. ``scope`` is what
    cached answers depend on beside the question and the index, ``version`` that of its content; ``embed`` gives a
    question's unit vector in the index's own space, ``language_unlike`` the name of the documents' language where a
    text is in another. ``embed_ahead`` begins an embedding that takes a call to another machine (else None).
    """

    stores: Stores | None
    chat: ChatModel | None
    deciding_chat: Callable[[str], ChatModel]
    prompt: Callable[..., str]
    scope: Callable[[], Mapping[str, object]]
    version: Callable[[], str]
    embed: Callable[[str], np.ndarray]
    language_unlike: Callable[[str], str]
    embed_ahead: Callable[[str], None] | None = None

    def conversation(self, *, turns: int, history_chars: int, budget_s: float, decline: str) -> Conversation:
        """Memory by session where there is a store, and questions rewritten where there is an LLM.

        With 0 ``turns`` nothing is remembered. ``decline`` is the profile's text.
        """
        reframe = None
        if self.chat:
            reframe = Reframe(
                chat=self.deciding_chat(self.chat.model),
                template=self.prompt("reframe.txt", "history", "question", "language"),
                decline=decline,
                budget_s=budget_s,
                history_chars=history_chars,
                language_unlike=self.language_unlike,
            )
        return Conversation(
            memory=self.stores.memory if self.stores and turns else None,
            reframe=reframe,
            decline=decline,
            turns=turns,
            new_session=lambda: secrets.token_urlsafe(24),
            now=time.time,
        )

    def answer_cache(self, bar: float) -> CacheSlot | None:
        """Answers by question; ``bar`` is the lowest top cosine of one that is kept."""
        if self.stores is None:
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

    def learn(self) -> FeedbackRefine | None:
        """Order by what readers said of similar questions."""
        if self.stores is None:
            return None
        return FeedbackRefine(store=self.stores.feedback, embed=self.embed, now=time.time, knobs=FeedbackKnobs())

    def rerank(self, model: str, *, budget_s: float, spread: float) -> LlmRerank | None:
        """The last word on close orders."""
        if self.chat is None:
            return None
        template = self.prompt("rerank.txt", "question", "passages")
        return LlmRerank(
            chat=self.deciding_chat(model),
            template=template,
            budget_s=budget_s,
            spread=spread,
        )

    def judge(self, *, budget_s: float, selective: bool) -> Judge | None:
        """The model that answers, as a judge of what it stated."""
        if self.chat is None:
            return None
        return Judge(
            chat=self.deciding_chat(self.chat.model),
            template=self.prompt("judge.txt", "passages", "statements"),
            budget_s=budget_s,
            selective=selective,
        )

    def feedback_log(self) -> FeedbackLog | None:
        """What a vote must know, and the votes."""
        if self.stores is None:
            return None
        return FeedbackLog(store=self.stores.feedback, cache=self.stores.cache, embed=self.embed, now=time.time)
