"""What an index is about, as far as its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.values.overview import Overview
from rag.wiring.filter_fields import FEW, filter_fields

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex

TITLES = 5


def overview(index: AnyIndex) -> Overview:
    """What ``index`` is about."""
    some = index.fetch(index.numbers[:: max(1, len(index.numbers) // (4 * TITLES))])
    titles = list(dict.fromkeys(chunk.title for chunk in some))
    categories = tuple(str(value) for value in index.values("category"))
    return Overview(
        documents=index.documents,
        categories=categories if len(categories) <= FEW else (),
        titles=tuple(titles[:: max(1, len(titles) // TITLES)][:TITLES]),
        fields=filter_fields(index),
    )
