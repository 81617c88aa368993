"""The metadata fields that a question can be filtered by, with their values where these are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.engines.metadata import NUMBER_FIELD, NUMBER_FIELDS
from rag.values.overview import FilterField

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex

FEW = 12
"""A field of at most so many values has them listed."""
_OWN = frozenset({"title", "section", "url", "source_urls", "path", "chunk_index", "chunk_count", NUMBER_FIELD})
"""Fields that tell one document or chunk from another: nobody filters by them."""


def filter_fields(index: AnyIndex) -> dict[str, FilterField]:
    """The fields of ``index`` by name, in the order of their names, but for those of one value."""
    fields = {}
    for name in sorted(index.fields.keys() - _OWN):
        values = () if name in NUMBER_FIELDS else index.values(name)  # days, as 20261126: one asks for a range
        if len(values) != 1:  # by a field of one value nothing is told apart
            fields[name] = FilterField(index.fields[name], tuple(values) if len(values) <= FEW else ())
    return fields
