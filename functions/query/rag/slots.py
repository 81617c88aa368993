"""The shape of each slot of the pipeline, as a function from value to value."""

from __future__ import annotations

from collections.abc import Callable

from rag.values.answer import (
    Answer,
    Confidence,
    Context,
    Decline,
    Found,
    Hit,
    Proceed,
    Question,
    Refined,
    Routing,
    SearchQuery,
)
from rag.values.draft import Said

type Admit = Callable[[Question], Question]
type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Refine = Callable[[tuple[Hit, ...], Question], Refined]
type Gate = Callable[[Found, Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]
type Score = Callable[[Said, Proceed], Confidence]
type Route = Callable[[Answer], Routing]
