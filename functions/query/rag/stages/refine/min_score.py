"""Keeps the hits that reach a minimum score."""

from __future__ import annotations

from dataclasses import dataclass

from rag.values.answer import Hit, Question, Refined


@dataclass(frozen=True, slots=True)
class MinScore:
    """Keeps hits with ``score >= threshold``; the request's own threshold wins over the profile's."""

    threshold: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> Refined:
        """The hits that pass, in their order."""
        bar = self.threshold if question.threshold is None else question.threshold
        return Refined(tuple(hit for hit in hits if hit.score >= bar))
