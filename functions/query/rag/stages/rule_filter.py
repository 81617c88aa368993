"""The filter that a question's own words ask for, by a rule table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rag.text.rules import RuleTable
from rag.types import Question, SearchQuery


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Puts the matching rule's ``where`` into ``SearchQuery.detected``, beside the request's own filter.

    ``fields`` gives the index's metadata fields and their types; an index that does not know them gets no rule.
    """

    table: RuleTable
    fields: Callable[[], Mapping[str, str]]

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` with the detected filter, if a rule applies to its (rewritten) text.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        if not self.table.rules:
            return query
        match = self.table.match(query.text, self.fields())
        if match is None:
            return query
        rule, keyword = match
        reason = f"the word {keyword!r}" if keyword else "default"
        return replace(query, detected=rule.where, trail=(*query.trail, f"filtered by {reason}: {rule}"))
