"""The part of the contract that a page needs beside answers: chunks to open, what came closest, sample questions."""

from __future__ import annotations

from typing import Any

from rag.http.schema import OrNull, QueryReply, Reply


class ClosestReply(Reply):
    """A chunk that came closest to a question that was declined."""

    chunk_id: str
    title: str
    section: OrNull
    url: OrNull
    score: float


class FoundReply(ClosestReply):
    """A chunk that an answer may rest on; ``read`` is whether whoever wrote it was handed the chunk."""

    doc_id: str
    read: bool


class RenderedReply(QueryReply):
    """An answer as a page shows it.

    ``rendered`` is the answer as nodes, each a string or an object with ``tag`` and ``children``, one a block;
    ``found`` are the chunks that were found for it, best first; ``closest`` is empty unless it is a decline.
    """

    rendered: list[Any]
    found: list[FoundReply]
    closest: list[ClosestReply]


class UnitReply(Reply):
    """A sentence, item, row or block of code: characters ``start`` to ``end`` of the text; ``score`` is 0 to 1."""

    start: int
    end: int
    score: float


class MatchReply(Reply):
    """A word of the text that meets the question; ``weight`` is 0 to 1."""

    start: int
    end: int
    weight: float


class ChunkReply(Reply):
    """A chunk of a document, and what in it answers the question, where one was asked."""

    id: str
    title: str
    section: OrNull
    url: OrNull
    text: str
    units: list[UnitReply]
    matches: list[MatchReply]


class RenderedChunkReply(ChunkReply):
    """A chunk as a page shows it. ``rendered`` is its Markdown as nodes, as in RenderedReply.

    ``before`` and ``after`` are those of the chunks of the same document that stand around it, empty
    where there is none.
    """

    rendered: list[Any]
    before: list[Any]
    after: list[Any]


class FilterReply(Reply):
    """A metadata field of few values, with all of them: ``{field: [values]}`` is a filter of a question."""

    field: str
    values: list[str | int | float | bool]


class SuggestionsReply(Reply):
    """What a page begins with.

    Questions that the index answers, up to six, and the words of whoever runs it, each ``""`` where it gave none.
    ``name`` is who answers, ``model`` who writes (as in health), ``documents`` how many there are, ``titles`` those of
    some, from all over; ``longest`` is how many characters a question may have, ``filters`` the fields whose values are
    few enough to choose from.
    """

    questions: list[str]
    documents: int
    titles: list[str]
    model: str
    name: str
    greeting: str
    disclaimer: str
    contact: str
    longest: int
    filters: list[FilterReply]
