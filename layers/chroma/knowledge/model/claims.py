"""Claims of an answer, and how far chunks support them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in plain words, and the numbers of the chunks that it cites; there may be none."""

    text: str
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkSupport:
    """The support of one chunk for a claim: the ``chance`` (0..1) that it says so, and its nearest unit.

    The unit is the characters ``start`` to ``end`` of the chunk's text, none where it has no units. ``verbatim`` says
    that the claim stands there word for word.
    """

    number: int
    chance: float
    start: int = 0
    end: int = 0
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """The chances (0..1) that a claim is supported: by all chunks together, by those it cites, by each alone.

    ``cited`` is None for a claim that cites nothing. ``shared`` (0..1) is the highest share of its words that one chunk
    has, ``missing`` are its numbers and names that stand in no chunk and not in the question.
    """

    chance: float
    shared: float
    cited: float | None = None
    each: tuple[ChunkSupport, ...] = ()
    missing: tuple[str, ...] = ()
