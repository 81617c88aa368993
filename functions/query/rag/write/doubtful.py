"""Quotes in place of a model's answer where it is doubtful that the index knows what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.ports.models import Writer
from rag.values.answer import Completion, Context, Deadline, Question
from rag.values.chat import OnText
from rag.values.stored import Turn


@dataclass(frozen=True, slots=True)
class DoubtfulWriter:
    """Lets ``quotes`` write where the context is doubtful, else ``writer``: no call for what is likely declined."""

    writer: Writer
    quotes: Writer

    def __call__(
        self,
        question: Question,
        context: Context,
        *,
        deadline: Deadline,
        history: Sequence[Turn] = (),
        on_text: OnText | None = None,
    ) -> Completion:
        """See ``rag.ports.models.Writer``."""
        write = self.quotes if context.doubtful else self.writer
        return write(question, context, deadline=deadline, history=history, on_text=on_text)
