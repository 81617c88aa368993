"""The documents of an index as a library: overview, filter fields, pages, sample questions and the page's welcome."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING

from knowledge.engines.metadata import NUMBER_FIELD, NUMBER_FIELDS
from knowledge.model.values import Chunk, View
from rag.ask.remarks import NO_QUESTION
from rag.errors import UnknownChunk
from rag.http.schema import FilterReply, SuggestionsReply
from rag.values.answer import Decline
from rag.values.question import DocumentPage, FilterField, Overview

if TYPE_CHECKING:
    from knowledge.open.opened import ChromaIndex
    from rag.profiles.shared.settings import ProfileSettings

MAX_VALUES = 12
"""The values of a field are listed if there are at most this many."""
IDENTIFYING_FIELDS = frozenset(
    {"title", "section", "url", "source_urls", "path", "chunk_index", "chunk_count", NUMBER_FIELD}
)
"""Fields that differ in every document or chunk: no question is filtered by them."""
TITLES = 5
GUIDE_ITEMS = 3
"""Headings that a guide names."""
PAGE = 50
"""Documents a page."""
BATCH = 200
"""Chunks read at once."""
QUESTIONS = 6
HEADINGS = 24
"""Headings that are tried as sample questions, taken evenly from the index."""
MIN_WORDS = 3
"""A shorter heading is a label ("Overview", "Known limits") and no question."""


def build_overview(index: ChromaIndex) -> Overview:
    """Return the number, categories, titles and filter fields of the documents of ``index``."""
    sample = index.fetch(index.numbers[:: max(1, len(index.numbers) // (4 * TITLES))])
    titles = list(dict.fromkeys(chunk.title for chunk in sample))
    categories = tuple(str(value) for value in index.values("category"))
    return Overview(
        documents=index.documents,
        categories=categories if len(categories) <= MAX_VALUES else (),
        titles=tuple(titles[:: max(1, len(titles) // TITLES)][:TITLES]),
        fields=find_filter_fields(index),
    )


def find_filter_fields(index: ChromaIndex) -> dict[str, FilterField]:
    """Return the fields that tell documents apart, sorted by name, with their values if there are few."""
    fields = {}
    for name in sorted(index.fields.keys() - IDENTIFYING_FIELDS):
        values = () if name in NUMBER_FIELDS else index.values(name)  # days, as 20261126, are filtered by a range
        if len(values) != 1:  # a single value tells nothing apart
            fields[name] = FilterField(index.fields[name], tuple(values) if len(values) <= MAX_VALUES else ())
    return fields


def read_document_page(index: ChromaIndex, start: int) -> DocumentPage:
    """Return up to ``PAGE`` documents whose first chunk has the number ``start`` or a higher one."""
    numbers = index.numbers
    first_chunks: list[Chunk] = []
    for batch in batched(numbers[bisect_left(numbers, start) :], BATCH):
        for chunk in index.fetch(batch):
            if chunk.chunk_index == 0:
                if len(first_chunks) == PAGE:
                    return DocumentPage(tuple(first_chunks), chunk.number)
                first_chunks.append(chunk)
    return DocumentPage(tuple(first_chunks), None)


def read_document(index: ChromaIndex, number: int) -> tuple[Chunk, ...]:
    """Return the chunks of the document whose first chunk has this number, in order.

    Raises:
        UnknownChunk: no document begins with it.
    """
    first = index.chunk(number)
    if first is None or first.chunk_index:
        raise UnknownChunk
    numbers, chunks = index.numbers, {0: first}
    start = bisect_left(numbers, number)
    for batch in batched((*numbers[start + 1 :], *numbers[:start]), BATCH):  # they mostly follow the first one
        if len(chunks) >= first.chunk_count:
            break
        for chunk in index.fetch(batch):
            if (chunk.doc_id, chunk.path) == (first.doc_id, first.path):
                chunks.setdefault(chunk.chunk_index, chunk)
    return tuple(chunks[place] for place in sorted(chunks))


def build_welcome(
    index: ChromaIndex, words: ProfileSettings, *, questions: Sequence[str], model: str
) -> SuggestionsReply:
    """Return the page's first content: sample ``questions``, the writing ``model``, and the owner's ``words``.

    Without a configured name the page shows the title of the documents' site.
    """
    known = build_overview(index)
    return SuggestionsReply(
        questions=list(questions),
        documents=known.documents,
        titles=list(known.titles),
        model=model,
        name=words.assistant_name or (index.manifest.made.title if index.manifest else ""),
        greeting=words.assistant_greeting,
        disclaimer=words.assistant_disclaimer,
        contact=words.assistant_contact,
        longest=words.max_query_chars,
        filters=[
            FilterReply(field=name, values=list(field.values))
            for name, field in (known.fields or {}).items()
            if field.values
        ],
    )


def build_guide(index: ChromaIndex, headings: Sequence[str]) -> Decline:
    """Return the reply to a request for help: some of the ``headings`` of ``index``, else some titles."""
    known = build_overview(index)
    reply = f"I answer from {known.documents} documents. Ask in your own words, for example about:"
    return Decline(NO_QUESTION, reply, items=tuple(headings or known.titles)[:GUIDE_ITEMS])


@dataclass(slots=True)
class Suggestions:
    """The sample questions of the current index, found once for each version of it; ``lease`` keeps an index open."""

    lease: Callable[[], AbstractContextManager[ChromaIndex]]
    _cached: tuple[str, tuple[str, ...]] = ("", ())

    def __call__(self) -> tuple[str, ...]:
        """Return up to ``QUESTIONS`` headings that the index answers best, of different documents where possible.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        with self.lease() as index:
            if self._cached[0] != index.version:
                self._cached = (index.version, suggest_questions(index))
            return self._cached[1]


def suggest_questions(index: ChromaIndex) -> tuple[str, ...]:
    """Return the headings that lead back to their own document, best first, a heading of each document first."""
    chunks = index.fetch(index.numbers[:: max(1, len(index.numbers) // (4 * HEADINGS))])
    last_headings = {chunk.section.rpartition(" > ")[2].strip(): chunk for chunk in chunks}
    questions = [heading for heading in last_headings if len(heading.split()) >= MIN_WORDS]
    sample = {
        heading: last_headings[heading] for heading in questions[:: max(1, len(questions) // HEADINGS)][:HEADINGS]
    }
    margins = {heading: _evidence_margin(index, heading, chunk) for heading, chunk in sample.items()}
    best = sorted((heading for heading in sample if margins[heading]), key=lambda heading: -margins[heading])
    one_of_each_document = {sample[heading].doc_id: heading for heading in reversed(best)}.values()
    return tuple(sorted(best, key=lambda heading: heading not in one_of_each_document)[:QUESTIONS])


def _evidence_margin(index: ChromaIndex, heading: str, chunk: Chunk) -> float:
    """Return how far the evidence for ``heading``, asked as a question, is above the bar.

    0 if another document is found first; 1 in an index without evidence.
    """
    if not index.late:
        return 1.0
    found = index.search([View(heading)], k=1)
    evidence = found.evidence
    if evidence is None or not found.hits or found.hits[0].chunk.doc_id != chunk.doc_id:
        return 0.0
    return max(0.0, evidence.score - (evidence.bar or 0.0))
