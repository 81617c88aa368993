"""What a look at an index found, as hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowledge.model.values import Chunk, Hit, SearchResult

if TYPE_CHECKING:
    from knowledge.search.late_interaction import RankedHits


def hits_of(seen: RankedHits, chunks: Sequence[Chunk]) -> SearchResult:
    """``seen`` with its ``chunks``, in their order."""
    hits = [
        Hit(
            chunk=chunk,
            score=float(seen.scores[place]),
            distance=1 - float(seen.scores[place]),
            parts={name: float(values[place]) for name, values in seen.parts.items()},
            vector=seen.vectors[place],
            match=seen.matches[place],
        )
        for place, chunk in enumerate(chunks)
    ]
    return SearchResult(tuple(hits), seen.evidence, seen.trail)
