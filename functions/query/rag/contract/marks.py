"""Citation marks: their brackets, and the passages that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from knowledge.model.values import Hit

OPEN, CLOSE = r"[\[\u3010\uff3b]", r"[\]\u3011\uff3d]"
"""Square brackets and both kinds of full-width ones, which some models write."""
BRACKETS = "[\u3010\uff3b"


@dataclass(frozen=True, slots=True)
class NamedSource:
    """The passages of one name in a mark, any of ``hits``; ``raw`` is a mark of this name alone."""

    hits: tuple[Hit, ...]
    raw: str
    title: str
    section: str


@dataclass(frozen=True, slots=True)
class ResolvedMark:
    """The meaning of a mark; ``removed`` of its names name no passage. ``changed``: it must be written anew."""

    named: tuple[NamedSource, ...]
    removed: int = 0
    changed: bool = False


class Marks(Protocol):
    """A profile's form of marks; ``rag.answer.citation_forms`` has all of them."""

    def resolve_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """Return the meaning of ``mark`` among ``hits``, all that the writer saw."""
        ...

    def mark_for(self, hit: Hit, place: int) -> str:
        """Return the mark of ``hit`` at a place of the context, from 1 on."""
        ...
