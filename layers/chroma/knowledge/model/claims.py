"""What is held against chunks, and how far they bear it out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Fidelity(IntEnum):
    """How a claim's words stand to those of one place."""

    CHANGED = 0
    """A copy with another number, something else counted, or a negation more or less."""
    REWORDED = 1
    """In other words, or words of several places."""
    SAME = 2
    """Its words, in their order, with nothing left out between them but clauses as a whole."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in plain words, and the numbers of the chunks that are said to bear it out; there may be none."""

    text: str
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkSupport:
    """The chunk of that ``number`` alone: how likely (0..1) it bears a claim out, and which unit of it does best.

    That is the characters ``start`` to ``end`` of its text, none where it has no units. ``copied`` says how the claim's
    words stand to that unit which shares most of them.
    """

    number: int
    chance: float
    start: int = 0
    end: int = 0
    copied: Fidelity = Fidelity.REWORDED


@dataclass(frozen=True, slots=True)
class SupportVerdict:
    """How likely it is (0..1) that a claim is borne out: by its ``own`` chunks together, by ``each`` chunk alone.

    ``own`` is None for a claim that names no chunk. Where its own chunks support it, no others are looked at, and
    ``each`` has those alone.
    """

    own: float | None
    each: tuple[ChunkSupport, ...] = ()
