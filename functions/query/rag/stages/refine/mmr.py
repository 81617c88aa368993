"""Maximal marginal relevance: relevant chunks that do not repeat each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rag.types import Hit, Question


@dataclass(frozen=True, slots=True)
class Mmr:
    """Chooses ``keep`` hits one by one, each the best by relevance_weight x relevance - (1 - w) x likeness.

    Relevance is the hit's score scaled to 0..1 over the candidates; likeness is the largest cosine to a hit that
    was already chosen (Carbonell and Goldstein, 1998). The chosen hits keep their order by score. Hits need
    their vectors.
    """

    relevance_weight: float
    keep: int

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> tuple[Hit, ...]:
        """At most ``keep`` of ``hits``, best first."""
        if len(hits) <= self.keep:
            return hits
        vectors = np.stack([hit.vector for hit in hits if hit.vector is not None])
        scores = np.array([hit.score for hit in hits])
        spread = float(np.ptp(scores))
        relevance = (scores - scores.min()) / spread if spread else np.ones(len(hits))
        likeness = np.full(len(hits), -1.0)
        value = self.relevance_weight * relevance
        chosen: list[int] = []
        for _ in range(self.keep):
            penalty = (1 - self.relevance_weight) * likeness if chosen else 0.0
            marginal = value - penalty
            marginal[chosen] = -np.inf
            best = int(np.argmax(marginal))
            chosen.append(best)
            likeness = np.maximum(likeness, vectors @ vectors[best])
        return tuple(hits[i] for i in sorted(chosen))
