"""The gate: do the hits support an answer at all?"""

from __future__ import annotations

from dataclasses import dataclass

from rag.types import Decline, Hit, Proceed, Question


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Proceeds when at least ``count`` hits are left."""

    count: int

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> Proceed | Decline:
        """Proceed with the hits, or Decline with the reason."""
        if len(hits) >= self.count:
            return Proceed(hits)
        return Decline(f"{len(hits)} chunks passed the threshold, {self.count} needed")
