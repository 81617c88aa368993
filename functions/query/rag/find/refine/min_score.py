"""Keeps the hits that reach a minimum score."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.find.retrieve.dense import Scale
from rag.values.answer import RefinedHits
from rag.values.question import Question


@dataclass(frozen=True, slots=True)
class MinScore:
    """Keeps hits whose plain cosine is at least ``threshold`` on ``scale``; the request's own threshold wins."""

    threshold: float
    scale: Scale

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        """The hits that pass, in their order."""
        bar = self.threshold if question.threshold is None else question.threshold
        return RefinedHits(tuple(hit for hit in hits if self.scale(hit.parts["dense"]) >= bar))
