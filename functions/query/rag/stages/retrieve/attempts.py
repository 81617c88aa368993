"""What is searched for, one after the other, until something supports an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rag.stages.query.where import both
from rag.values.answer import SearchQuery


def attempts(query: SearchQuery) -> Iterator[SearchQuery]:
    """``query`` within its detected filter, then without it; the trail of the second says so.

    A filter that the request asked for stays in both. A rule that fired on the wrong word costs a second search
    instead of the answer.
    """
    if query.detected is not None:
        yield replace(query, where=both(query.where, query.detected), detected=None)
        query = replace(query, trail=(*query.trail, "the detected filter left nothing: searched again without it"))
    yield replace(query, detected=None)
