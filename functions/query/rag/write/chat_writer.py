"""Generation: from a packed context to a completion, by a chat model or by the engine that stands in for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Unpack

from rag.ask.conversation.history import format_history, history_section
from rag.errors import LlmUnavailable
from rag.ports.models import ChatModel, Writer, Writing
from rag.text.fence import fence_for
from rag.text.fill import fill
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Context
from rag.values.chat import Completion, Message
from rag.values.question import Question

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Two messages: the system prompt with ``{context}`` (and ``{history}``) filled in, and the question as asked.

    What is filled in stands between lines that it cannot hold, made with ``new_mark`` for each call; the prompt calls
    what they hold ``{fence}``.
    ``history_chars`` is the longest history. With 0 the prompt holds none, and the question is asked as it was
    understood. ``words`` are what its owner's placeholders stand for.
    """

    chat: ChatModel
    system_prompt: str
    new_mark: Callable[[], str]
    history_chars: int = 0
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """See ``rag.ports.models.Writer``."""
        turns = [(turn.asked, turn.answer) for turn in how.get("history", ())]
        passages, said = context.text.rstrip(), format_history(turns, max_chars=self.history_chars).strip()
        fence = fence_for(self.new_mark, self.system_prompt, passages, said, question.text, question.understood)
        values = {
            **self.words,
            "context": fence.around(passages),
            "history": history_section(fence.around(said)),
            "fence": fence.mark,
        }
        system = fill(self.system_prompt, values)
        wording = question.text if self.history_chars else question.understood
        messages = (Message("system", system), Message("user", wording))
        completion = self.chat.complete(messages, deadline=how["deadline"], on_text=how.get("on_text"))
        return replace(completion, text=replace_surrogates(completion.text))


@dataclass(frozen=True, slots=True)
class FallbackWriter:
    """Lets ``last_resort`` write when ``writer`` cannot be reached; the completion then says ``degraded``."""

    writer: Writer
    last_resort: Writer

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """See ``rag.ports.models.Writer``; LlmUnavailable is raised only where the last resort has nothing to say."""
        try:
            return self.writer(question, context, **how)
        except LlmUnavailable as exc:
            logger.warning("%s; the last resort answers", exc)
            how.pop("on_text", None)  # what is quoted comes at once
            completion = self.last_resort(question, context, **how)
            if not completion.text:
                raise
            spent = exc.spent
            return replace(completion, degraded=True, calls=spent.calls, retries=spent.retries, denied=spent.denied)


@dataclass(frozen=True, slots=True)
class DoubtfulWriter:
    """Lets ``quotes`` write where the context is doubtful, else ``writer``: no call for what is likely declined."""

    writer: Writer
    quotes: Writer

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """See ``rag.ports.models.Writer``."""
        return (self.quotes if context.doubtful else self.writer)(question, context, **how)
