"""The documents as a library: what they are about, page by page, and the chunks of one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING

from knowledge.model.values import Chunk, Hit
from rag.errors import UnknownChunk
from rag.values.answer import Answer
from rag.values.events import Listen
from rag.values.overview import DocumentPage, Overview
from rag.values.question import Question
from rag.wiring.about import overview
from rag.wiring.application import chunk_number

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex
    from knowledge.search.passage import ChunkView
    from rag.wiring.application import Application

PAGE = 50
"""Documents a page."""
BATCH = 200


@dataclass(frozen=True, slots=True)
class Library:
    """The documents of ``service`` as ``rag.mcp.tools.Knowledge``; ``answer`` answers, as the transport asks for it."""

    service: Application
    answer: Callable[[Question, Listen | None], Answer]

    def ask(self, question: Question, listen: Listen | None) -> Answer:
        """The answer; ``listen`` is told how it comes about."""
        return self.answer(question, listen)

    def search(self, text: str, *, k: int, filters: Mapping[str, object]) -> tuple[Hit, ...]:
        """What retrieval finds."""
        return self.service.search(text, k=k, filters=filters)

    def chunk(self, chunk_id: str) -> ChunkView:
        """A chunk."""
        return self.service.chunk(chunk_id)

    def document(self, chunk_id: str) -> tuple[Chunk, ...]:
        """A document, by the id of its first chunk."""
        with self.service.index.lease() as index:
            return document(index, chunk_number(chunk_id))

    def document_page(self, start: int) -> DocumentPage:
        """Some documents."""
        with self.service.index.lease() as index:
            return document_page(index, start)

    def overview(self) -> Overview:
        """What the documents are about."""
        with self.service.index.lease() as index:
            return overview(index)


def document_page(index: AnyIndex, start: int) -> DocumentPage:
    """The documents whose first chunk has the number ``start`` or a higher one, up to ``PAGE``."""
    numbers = index.numbers
    found: list[Chunk] = []
    for some in batched(numbers[bisect_left(numbers, start) :], BATCH):
        for chunk in index.fetch(some):
            if chunk.chunk_index == 0:
                if len(found) == PAGE:
                    return DocumentPage(tuple(found), chunk.number)
                found.append(chunk)
    return DocumentPage(tuple(found), None)


def document(index: AnyIndex, number: int) -> tuple[Chunk, ...]:
    """The chunks of the document whose first one has that number, in their order; they mostly follow each other.

    Raises:
        UnknownChunk: no document begins with it.
    """
    first = index.chunk(number)
    if first is None or first.chunk_index:
        raise UnknownChunk
    numbers, found = index.numbers, {0: first}
    at = bisect_left(numbers, number)
    for some in batched((*numbers[at + 1 :], *numbers[:at]), BATCH):
        if len(found) >= first.chunk_count:
            break
        for chunk in index.fetch(some):
            if (chunk.doc_id, chunk.path) == (first.doc_id, first.path):
                found.setdefault(chunk.chunk_index, chunk)
    return tuple(found[place] for place in sorted(found))
