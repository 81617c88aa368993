"""Sample questions for somebody who does not know what an index holds: headings of its own that it finds again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from knowledge.model.values import Chunk, View

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex

COUNT = 6
TRIED = 24
"""Headings that are looked at, from all over the index."""
MIN_WORDS = 3
"""A shorter heading is a label ("Overview", "Known limits"): nobody would ask it."""


class Suggestions:
    """The sample questions of the current index, found once for each version of it."""

    def __init__(self, lease: Callable[[], AbstractContextManager[AnyIndex]]) -> None:
        """``lease`` gives the current index for the length of a ``with`` block."""
        self._lease = lease
        self._known: tuple[str, tuple[str, ...]] = ("", ())

    def __call__(self) -> tuple[str, ...]:
        """Up to ``COUNT`` headings, of different documents where there are so many, that the index answers best.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        with self._lease() as index:
            if self._known[0] != index.version:
                self._known = (index.version, _suggest(index))
            return self._known[1]


def _suggest(index: AnyIndex) -> tuple[str, ...]:
    headings = _headings(index)
    worth = {heading: _found_again(index, heading, chunk) for heading, chunk in headings.items()}
    best = sorted((heading for heading in headings if worth[heading]), key=lambda heading: -worth[heading])
    of_each_document = {headings[heading].doc_id: heading for heading in reversed(best)}.values()
    return tuple(sorted(best, key=lambda heading: heading not in of_each_document)[:COUNT])


def _headings(index: AnyIndex) -> dict[str, Chunk]:
    """``TRIED`` last headings above chunks from all over the index, each with its chunk; titles stand above none."""
    numbers = index.numbers
    chunks = index.fetch(numbers[:: max(1, len(numbers) // (4 * TRIED))])
    named = {chunk.section.rpartition(" > ")[2].strip(): chunk for chunk in chunks}
    long = [heading for heading in named if len(heading.split()) >= MIN_WORDS]
    return {heading: named[heading] for heading in long[:: max(1, len(long) // TRIED)][:TRIED]}


def _found_again(index: AnyIndex, heading: str, chunk: Chunk) -> float:
    """How far the evidence of ``heading``, asked as a question, is above the bar; 0 where it does not lead back.

    An index that knows no evidence takes every heading alike.
    """
    if not index.late:
        return 1.0
    found = index.search([View(heading)], k=1)
    evidence = found.evidence
    if evidence is None or not found.hits or found.hits[0].chunk.doc_id != chunk.doc_id:
        return 0.0
    return max(0.0, evidence.score - (evidence.bar or 0.0))
