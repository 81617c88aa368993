"""The shape of each slot of the pipeline, as a function from value to value."""

from __future__ import annotations

from collections.abc import Callable

from rag.values.answer import (
    Answer,
    Confidence,
    Context,
    Decline,
    Hit,
    Proceed,
    Question,
    RefinedHits,
    Routing,
    SearchQuery,
    SearchResult,
)
from rag.values.draft import ConfidenceInput

type Admit = Callable[[Question], Question]
type QueryStage = Callable[[SearchQuery, Question], SearchQuery]
type Refine = Callable[[tuple[Hit, ...], Question], RefinedHits]
type Gate = Callable[[SearchResult, Question], Proceed | Decline]
type Pack = Callable[[tuple[Hit, ...]], Context]
type Score = Callable[[ConfidenceInput, Proceed], Confidence]
type Route = Callable[[Answer], Routing]
