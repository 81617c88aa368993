"""Acronyms beside their long forms in the search query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag.stages.query.acronyms import AcronymTable
from rag.values.answer import Question, SearchQuery


@dataclass(frozen=True, slots=True)
class ExpandAcronyms:
    """Puts both forms of each acronym of ``table`` into the query; the trail says what was expanded."""

    table: AcronymTable

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` expanded."""
        text, trail = self.table.expand(query.text)
        return replace(query, text=text, trail=(*query.trail, *trail)) if trail else query
