"""Sample questions for somebody who does not know what an index holds: headings of its own that it finds again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from rag.values.answer import Chunk, View

if TYPE_CHECKING:
    from knowledge.open.index import Index

COUNT = 6
TRIED = 24
"""Headings that are looked at, from all over the index."""
MIN_WORDS = 3
"""A shorter heading is a label ("Overview", "Known limits"): nobody would ask it."""


class Suggestions:
    """The sample questions of the current index, found once for each version of it."""

    def __init__(self, lease: Callable[[], AbstractContextManager[Index]]) -> None:
        """``lease`` gives the current index for the length of a ``with`` block."""
        self._lease = lease
        self._known: tuple[str, tuple[str, ...]] = ("", ())

    def __call__(self) -> tuple[str, ...]:
        """Up to ``COUNT`` headings from different documents, those first that the index answers best.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        with self._lease() as index:
            if self._known[0] != index.version:
                self._known = (index.version, _suggest(index))
            return self._known[1]


def _suggest(index: Index) -> tuple[str, ...]:
    worth = {heading: value for heading, chunk in _headings(index) if (value := _found_again(index, heading, chunk))}
    return tuple(sorted(worth, key=lambda heading: -worth[heading])[:COUNT])


def _headings(index: Index) -> Iterator[tuple[str, Chunk]]:
    """The last heading above chunks from all over the index, one a document; titles stand above none."""
    numbers = index.numbers
    step = max(1, len(numbers) // (4 * TRIED))
    seen: set[str] = set()
    for chunk in index.fetch(numbers[::step]):
        heading = chunk.section.rpartition(" > ")[2].strip()
        if chunk.doc_id not in seen and len(heading.split()) >= MIN_WORDS and len(seen) < TRIED:
            seen.add(chunk.doc_id)
            yield heading, chunk


def _found_again(index: Index, heading: str, chunk: Chunk) -> float:
    """How far the evidence of ``heading``, asked as a question, is above the bar; 0 where it does not lead back.

    An index that knows no evidence takes every heading alike.
    """
    if not index.late:
        return 1.0
    found = index.look([View(heading)], k=1)
    evidence = found.evidence
    if evidence is None or not found.hits or found.hits[0].chunk.doc_id != chunk.doc_id:
        return 0.0
    return max(0.0, evidence.score - (evidence.bar or 0.0))
