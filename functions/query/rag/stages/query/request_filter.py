"""The request's own ``filters`` as a Chroma ``where``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from knowledge.open.metadata import FIELD_TYPES
from rag.stages.query.where import both, build_where
from rag.values.answer import Question, SearchQuery


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """And-s the request's filters into the query.

    ``fields`` gives the index's metadata fields and their types ("str", "int", "float", "bool", "mixed"),
    empty when the index does not know them. The thirteen fields of a chunk are known even where no document has a
    value: such a filter finds nothing.
    """

    fields: Callable[[], Mapping[str, str]]

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` with the request's filters.

        Raises:
            InvalidParameter: an unknown field, or a condition that the field's type cannot meet.
            IndexUnavailable: there is no usable index.
        """
        if not question.filters:
            return query
        fields = self.fields()
        known = {**FIELD_TYPES, **fields} if fields else {}
        where = both(build_where(question.filters, known), query.where)
        trail = f"filtered by the request's own filters: {', '.join(question.filters)}"
        return replace(query, where=where, trail=(*query.trail, trail))
