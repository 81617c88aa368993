"""What is held against chunks, and how far they bear it out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in plain words, and the numbers of the chunks that are said to bear it out; there may be none."""

    text: str
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bearing:
    """The chunk of that ``number`` alone: how likely (0..1) it bears a claim out, and which unit of it does best.

    That is the characters ``start`` to ``end`` of its text, none where it has no units.
    """

    number: int
    chance: float
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Borne:
    """How likely it is (0..1) that a claim is borne out: by its ``own`` chunks together, by ``each`` chunk alone.

    ``own`` is None for a claim that names no chunk. Where its own chunks support it, no others are looked at, and
    ``each`` has those alone.
    """

    own: float | None
    each: tuple[Bearing, ...] = ()
