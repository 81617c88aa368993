"""Generation: from a packed context to a completion, by a chat model or by the engine that stands in for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Unpack

from rag.ask.conversation import format_history, history_section
from rag.errors import ContextTooLong, LlmUnavailable
from rag.find.pack import ContextWindow
from rag.ports.models import ChatModel, Writer, Writing
from rag.text.fence import Fence, NewMark, fence_for
from rag.text.fill import fill
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Context
from rag.values.chat import STOPPED, Completion, Message, OnText
from rag.values.question import Question

logger = logging.getLogger(__name__)


def _today() -> date:
    return datetime.now().astimezone().date()


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Two messages: the system prompt with ``{context}`` (and ``{history}``) filled in, and the question as asked.

    What is filled in stands between lines that it cannot hold, of the context's ``new_mark``; the prompt calls what
    they hold ``{fence}``, and no text that is passed on has it.
    ``history_chars`` is the longest history. With 0 the prompt holds none, and the question is asked in its
    ``wording``. ``words`` are what its owner's placeholders stand for; ``{today}`` is the day that ``today`` gives.
    ``window`` bounds the passages; it learns of a prompt that was too long.
    """

    chat: ChatModel
    system_prompt: str
    new_mark: NewMark
    history_chars: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    today: Callable[[], date] = _today
    window: ContextWindow = field(default_factory=ContextWindow)

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """See ``rag.ports.models.Writer``.

        Raises:
            ContextTooLong: the passages exceed the model's context window, which takes fewer of them from now on.
        """
        turns = [(turn.asked, turn.answer) for turn in how.get("history", ())]
        passages, said = context.text.rstrip(), format_history(turns, max_chars=self.history_chars).strip()
        fence = fence_for(self.new_mark, passages, said, question.text, question.understood, self.system_prompt)
        today = self.today()
        values = {
            **self.words,
            "context": fence.around(passages),
            "history": history_section(fence.around(said)),
            "fence": fence.mark,
            "today": f"{today.day} {today:%B %Y}",
        }
        system = fill(self.system_prompt, values)
        wording = question.text if self.history_chars else question.wording or question.understood
        messages = (Message("system", system), Message("user", wording))
        on_text = how.get("on_text")
        unfenced = _Unfenced(fence, on_text) if on_text else None
        try:
            completion = self.chat.complete(messages, deadline=how["deadline"], on_text=unfenced)
        except ContextTooLong as exc:
            if self.window.halve(passages):
                raise
            raise LlmUnavailable(f"{exc}, even with the least that can be packed") from exc
        if unfenced and completion.finish_reason != STOPPED:
            unfenced.end()
        return replace(completion, text=fence.taken_out(replace_surrogates(completion.text)))


class _Unfenced:
    """Passes a model's text on to ``on_text`` piece by piece, without the mark of the prompt's ``fence``."""

    def __init__(self, fence: Fence, on_text: OnText) -> None:
        self._fence, self._on_text = fence, on_text
        self._held = ""

    def __call__(self, text: str) -> None:
        """See ``rag.values.chat.OnText``."""
        text = self._held + text
        begun = self._fence.begun(text)
        self._held = text[begun:]
        self._on_text(self._fence.taken_out(text[:begun]))

    def end(self) -> None:
        """Pass on what was held back, as no more text comes."""
        held, self._held = self._held, ""
        if rest := self._fence.taken_out(held):
            self._on_text(rest)


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
