"""Generation: from a packed context to a completion, by a chat model or by the engine of last resort."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Protocol

from rag.errors import LlmUnavailable
from rag.ports import ChatModel
from rag.text.surrogates import replace_surrogates
from rag.types import Completion, Context, Deadline, Message, Question

logger = logging.getLogger(__name__)


class Writer(Protocol):
    """Writes the answer to a question from a context."""

    def __call__(self, question: Question, context: Context, *, deadline: Deadline) -> Completion:
        """The completion.

        Raises:
            LlmUnavailable: the model cannot be reached, or not in time.
            LlmFailed: the model refused or its completion cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Two messages: the system prompt with the context in place of ``{context}``, and the question."""

    chat: ChatModel
    system_prompt: str

    def __call__(self, question: Question, context: Context, *, deadline: Deadline) -> Completion:
        """See Writer."""
        system = self.system_prompt.replace("{context}", context.text.rstrip(), 1)
        messages = (Message("system", system), Message("user", question.text))
        completion = self.chat.complete(messages, deadline=deadline)
        return replace(completion, text=replace_surrogates(completion.text))


@dataclass(frozen=True, slots=True)
class WithLastResort:
    """Lets ``last_resort`` write when ``writer`` cannot be reached; the completion then says ``degraded``."""

    writer: Writer
    last_resort: Writer

    def __call__(self, question: Question, context: Context, *, deadline: Deadline) -> Completion:
        """See Writer; LlmUnavailable is never raised."""
        try:
            return self.writer(question, context, deadline=deadline)
        except LlmUnavailable as exc:
            logger.warning("%s; the last resort answers", exc)
            completion = self.last_resort(question, context, deadline=deadline)
            return replace(completion, degraded=True, calls=exc.calls, retries=max(0, exc.calls - 1))
