"""Maximal marginal relevance: relevant chunks that do not repeat each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.values import Chunk, Hit
from rag.text.stems import content_stems
from rag.values.answer import RefinedHits
from rag.values.question import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPEAT_COSINE = 0.95
"""Above it two chunks are copies or editions of one text. Sections of one document lie below .87 in all samples."""


@dataclass(frozen=True, slots=True)
class Mmr:
    """Chooses ``keep`` hits one by one, each the best by relevance_weight x relevance - (1 - w) x likeness.

    Relevance is the hit's score (at most 1, as a cosine is) scaled to 0..1 over the candidates; likeness is the
    largest cosine to a hit that was already chosen (Carbonell and Goldstein, 1998). That sum alone lets copies of the
    best chunk win every place, as no other topic comes near their relevance: so a copy (``REPEAT_COSINE``) of a chosen
    hit is taken only when nothing else is left, unless it holds a word of the question that the chosen one lacks
    ("the rates of 2023 and 2025"). The chosen hits keep their order by score. Hits need their vectors.
    """

    relevance_weight: float
    keep: int

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        """At most ``keep`` of ``hits``, best first."""
        if len(hits) <= self.keep:
            return RefinedHits(hits)
        vectors = np.stack([hit.vector for hit in hits if hit.vector is not None])
        alike = vectors @ vectors.T
        copies = _copies(hits, alike > REPEAT_COSINE, question.understood)
        scores = np.minimum([hit.score for hit in hits], 1)
        spread = float(np.ptp(scores))
        value = self.relevance_weight * ((scores - scores.min()) / spread if spread else np.ones(len(hits)))
        likeness = np.zeros(len(hits))
        left, told = np.ones(len(hits), dtype=bool), np.zeros(len(hits), dtype=bool)
        for number in range(self.keep):
            new = left & ~told
            marginal = value - (1 - self.relevance_weight) * likeness
            best = int(np.argmax(np.where(new if new.any() else left, marginal, -np.inf)))
            likeness = np.maximum(likeness, alike[best]) if number else alike[best]
            told |= copies[:, best]
            left[best] = False
        return RefinedHits(tuple(hits[i] for i in np.flatnonzero(~left)))


def _copies(hits: tuple[Hit, ...], near: NDArray[np.bool_], question: str) -> NDArray[np.bool_]:
    """Whether hit ``i`` (row) says nothing that is asked for beyond hit ``j``. Few hits are near, so few are read."""
    pairs = [(i, j) for i, j in np.argwhere(near).tolist() if i != j]
    asked = content_stems(question) if pairs else set()
    held = {i: asked & _stems(hits[i].chunk) for i in {i for i, _ in pairs}}
    copies = np.zeros_like(near)
    for i, j in pairs:
        copies[i, j] = held[i] <= held[j]
    return copies


def _stems(chunk: Chunk) -> set[str]:
    return content_stems(f"{chunk.title} {chunk.section} {chunk.text}")
