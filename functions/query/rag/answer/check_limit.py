"""How much of an answer is checked: what takes a bounded time, whatever a model was led to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag.answer.statements import Unit
from rag.ports.index import OpenIndex

ROOM = 2500
"""So many word pieces of an answer's statements are read, each statement counted with ``EACH`` more.

English has 4.5 characters a piece: 4 KB in 40 sentences need 1,300. A line before a list is read with each item of it.
"""
EACH = 10
"""What holding a statement against ten passages takes beside reading it, in word pieces."""
LEFT = "not checked"
"""Stands behind one that the check had no room for."""


def fitting(units: Sequence[Unit], index: OpenIndex) -> Iterator[Unit]:
    """Those of ``units`` that are checked: in their order until ``ROOM`` is full; what alone is more is passed over."""
    room = ROOM
    for unit in units:
        needs = EACH + index.pieces(unit.claim)
        if needs <= room:
            room -= needs
            yield unit
        elif needs <= ROOM:
            return


def left_note(left: int) -> tuple[str, ...]:
    """The line of the trail, and of the confidence, on the statements that there was no room for."""
    return (f"{left} statement{'s' * (left != 1)} not checked: the answer is too long",) if left else ()
