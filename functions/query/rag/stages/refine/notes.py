"""What the trail says of an order that is not retrieval's own."""

from __future__ import annotations

from rag.values.answer import Hit


def order_notes(hits: tuple[Hit, ...]) -> tuple[str, ...]:
    """One line for readers' votes and one for dates, each naming the chunks of ``hits`` that they moved."""
    voted = [f"{hit.chunk.id} {hit.parts['feedback']:+.2f}" for hit in hits if "feedback" in hit.parts]
    newer = [hit.chunk.id for hit in hits if "newer" in hit.parts]
    notes = []
    if voted:
        notes.append(f"ordered by readers' votes: {', '.join(voted)}")
    if newer:
        notes.append(f"newer first: {', '.join(newer)}")
    return tuple(notes)
