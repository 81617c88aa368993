"""The filter that a question's own words ask for, by a rule table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rag.stages.query.filter_rules import RuleTable, unite
from rag.values.answer import Question, SearchQuery


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Puts the ``where`` of the matching rules into ``SearchQuery.detected``, beside the request's own filter.

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
        matched = self.table.match(query.text, self.fields())
        if not matched:
            return query
        named = [f"{f'the word {match.keyword!r}' if match.keyword else 'default'}: {match.rule}" for match in matched]
        trail = (*query.trail, f"filtered by {', or by '.join(named)}")
        return replace(query, detected=unite(matched), trail=trail)
