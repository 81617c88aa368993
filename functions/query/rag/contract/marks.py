"""What a citation mark is: the brackets around it, and which of the passages it means."""

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
    """What one name of a mark means: any of ``hits``, as ``title`` and ``section``; ``raw`` is a mark of it alone."""

    hits: tuple[Hit, ...]
    raw: str
    title: str
    section: str


@dataclass(frozen=True, slots=True)
class ResolvedMark:
    """What a mark means; ``removed`` of its names mean nothing. ``changed``: it cannot stay as it was written."""

    named: tuple[NamedSource, ...]
    removed: int = 0
    changed: bool = False


class Marks(Protocol):
    """How the marks of a profile are read; ``rag.answer.citation_forms`` has its forms."""

    def resolve_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """What ``mark`` means of ``hits``, all that the writer saw."""
        ...

    def mark_for(self, hit: Hit, place: int) -> str:
        """The profile's own mark of ``hit``, at that place of the context, from 1 on."""
        ...
