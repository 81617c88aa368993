"""Writers that ask a chat model, or let the extractive engine write in its place."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Unpack

from rag.ask.conversation import format_history, history_section
from rag.errors import ContextTooLong, LlmUnavailable
from rag.find.pack import ContextWindow
from rag.ports import ChatModel, Writer, Writing
from rag.text.template import Fence, NewMark, fence_for, fill, new_mark, replace_surrogates
from rag.values.answer import Context
from rag.values.chat import STOPPED, Completion, Message, OnText
from rag.values.question import Question

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Sends two messages: the system prompt with ``{context}`` and ``{history}``, and the question.

    Both are filled in between fence lines; the prompt names their mark ``{fence}``, and it is removed from the
    completion. ``history_chars`` is the longest history; with 0 the prompt has none and the question is sent in its
    ``wording``. ``words`` are the values of the owner's placeholders. ``window`` limits the passages and learns from a
    prompt that was too long.
    """

    chat: ChatModel
    system_prompt: str
    history_chars: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    today: Callable[[], date] = lambda: datetime.now().astimezone().date()
    window: ContextWindow = field(default_factory=ContextWindow)
    new_mark: NewMark = new_mark

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """Write the answer.

        Raises:
            ContextTooLong: the passages exceed the model's context window; ``window`` is smaller from now on.
        """
        turns = [(turn.asked, turn.answer) for turn in how.get("history", ())]
        passages, history = context.text.rstrip(), format_history(turns, max_chars=self.history_chars).strip()
        fence = fence_for(self.new_mark, passages, history, question.text, question.understood, self.system_prompt)
        today = self.today()
        values = {
            **self.words,
            "context": fence.around(passages),
            "history": history_section(fence.around(history)),
            "fence": fence.mark,
            "today": f"{today.day} {today:%B %Y}",
        }
        system = fill(self.system_prompt, values)
        wording = question.text if self.history_chars else question.wording or question.understood
        messages = (Message("system", system), Message("user", wording))
        on_text = how.get("on_text")
        unfenced = _FenceFilter(fence, on_text) if on_text else None
        try:
            completion = self.chat.complete(messages, deadline=how["deadline"], on_text=unfenced)
        except ContextTooLong as exc:
            if self.window.halve(passages):
                raise
            raise LlmUnavailable(f"{exc}, even with the least that can be packed") from exc
        if unfenced and completion.finish_reason != STOPPED:
            unfenced.end()
        return replace(completion, text=fence.remove_from(replace_surrogates(completion.text)))


class _FenceFilter:
    """Passes a model's text to ``on_text`` without the mark of the prompt's ``fence``."""

    def __init__(self, fence: Fence, on_text: OnText) -> None:
        self._fence, self._on_text = fence, on_text
        self._pending = ""

    def __call__(self, text: str) -> None:
        text = self._pending + text
        begun = self._fence.find_begun(text)
        self._pending = text[begun:]
        self._on_text(self._fence.remove_from(text[:begun]))

    def end(self) -> None:
        """Pass on the pending text at the end of the completion."""
        if rest := self._fence.remove_from(self._pending):
            self._on_text(rest)


@dataclass(frozen=True, slots=True)
class FallbackWriter:
    """Lets ``last_resort`` write if ``writer`` is unavailable; the completion is then ``degraded``.

    Without text of the last resort the error of ``writer`` stays.
    """

    writer: Writer
    last_resort: Writer

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        try:
            return self.writer(question, context, **how)
        except LlmUnavailable as exc:
            logger.warning("%s; the last resort answers", exc)
            how.pop("on_text", None)  # quotes arrive at once
            completion = self.last_resort(question, context, **how)
            if not completion.text:
                raise
            spent = exc.spent
            return replace(completion, degraded=True, calls=spent.calls, retries=spent.retries, denied=spent.denied)


@dataclass(frozen=True, slots=True)
class DoubtfulWriter:
    """Lets ``quotes`` write if the context is doubtful, else ``writer``: no call for a likely decline."""

    writer: Writer
    quotes: Writer

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        return (self.quotes if context.doubtful else self.writer)(question, context, **how)
