"""The shape of each slot of the pipeline, as a function from value to value; ``rag.ports`` has those of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from knowledge.model.values import Hit, SearchResult
from rag.values.answer import (
    Answer,
    Confidence,
    ConfidenceInput,
    Context,
    Decline,
    Proceed,
    RefinedHits,
    RepeatedQuestion,
    Routing,
)
from rag.values.question import Question, SearchQuery, Turn

type Admit = Callable[[Question], Question]
type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Refine = Callable[[tuple[Hit, ...], Question], RefinedHits]
type Gate = Callable[[SearchResult, Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]
type Score = Callable[[ConfidenceInput, Proceed], Confidence]
type Route = Callable[[Answer], Routing]


class Remarks(Protocol):
    """Answers in kind what asks about nothing: see ``rag.ask.remarks``."""

    def __call__(
        self,
        question: Question,
        history: Callable[[], Sequence[Turn]],
        *,
        alone: bool,
        is_answerable: Callable[[], bool],
    ) -> Decline | RepeatedQuestion | None:
        """The reply, the question that is to be answered again, or None where something is asked."""
        ...
