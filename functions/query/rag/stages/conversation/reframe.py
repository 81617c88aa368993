"""Follow-ups become questions that stand alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.ledger import Ledger
from rag.ports import ChatModel
from rag.stages.conversation.follow_up import carry_over, leans_on_history
from rag.stages.conversation.history import format_history
from rag.text.fill import fill
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Deadline, Message, SearchQuery
from rag.values.stored import Turn

MAX_CHARS = 400
"""A rewriting that is longer than this has answered the question instead."""
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reframe:
    """Rewrites a question that leans on the conversation; one that stands alone is never touched.

    ``chat`` rewrites with ``template`` ({history}, {question}) within ``budget_s`` seconds by ``clock``; without a
    chat model, and as ``fallback``, the missing topic words of the conversation are carried over.
    """

    chat: ChatModel | None
    template: str
    budget_s: float
    history_chars: int
    clock: Callable[[], float]

    def is_follow_up(self, text: str, history: Sequence[Turn]) -> bool:
        """Whether ``text`` needs ``history`` to be understood."""
        return bool(history) and leans_on_history(text)

    def __call__(self, query: SearchQuery, history: Sequence[Turn], ledger: Ledger) -> SearchQuery:
        """``query`` as it stands alone; ``ledger`` counts the call.

        Raises:
            LlmError: the model cannot be reached in time, or its rewriting cannot be read.
        """
        chat = self.chat
        if chat is None:
            return self.fallback(query, history)
        turns = [(_as_said(turn), turn.answer) for turn in history]
        text = fill(
            self.template,
            {"history": format_history(turns, max_chars=self.history_chars).strip(), "question": query.text},
        )
        limit = Deadline.after(min(self.budget_s, ledger.deadline.remaining()), self.clock)
        messages = (Message("user", replace_surrogates(text)),)
        completion = ledger.complete(lambda: chat.complete(messages, deadline=limit))
        rewritten = _question(replace_surrogates(completion.text))
        if not rewritten or len(rewritten) > MAX_CHARS:
            return self.fallback(query, history)
        return _rewritten(query, rewritten)

    def fallback(self, query: SearchQuery, history: Sequence[Turn]) -> SearchQuery:
        """``query`` with the conversation's missing topic words."""
        return _rewritten(query, carry_over(query.text, tuple(turn.question for turn in history)))


def _as_said(turn: Turn) -> str:
    """What the user said; a follow-up with what it was taken to mean, which the next one may lean on."""
    return f"{turn.asked} (understood as: {turn.question})" if turn.asked != turn.question else turn.question


def _question(text: str) -> str:
    """The one line that the prompt asks for, without quotes around it; ``""`` where there are more lines or none."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip().strip(_QUOTES).strip() if len(lines) == 1 else ""


def _rewritten(query: SearchQuery, text: str) -> SearchQuery:
    if text == query.text:
        return query
    return replace(query, text=text, trail=(*query.trail, f"understood as: {text}"))
