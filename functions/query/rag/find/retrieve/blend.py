"""The views of a query as one vector, for retrievers that search with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.embedding_text import question_text

if TYPE_CHECKING:
    from knowledge.model.values import Embedder, Vector
    from rag.values.question import SearchQuery


def blended(query: SearchQuery, embedder: Embedder) -> Vector:
    """The weighted mean of the vectors of ``query.text`` (weight 1) and its further views, of unit length.

    A cosine with it is, but for a factor, the weighted mean of the views' own. Views within a filter say nothing new.
    """
    views = [view for view in query.views if view.where is None]
    vectors = embedder.embed([question_text(text) for text in (query.text, *(view.text for view in views))])
    if not views:
        return np.asarray(vectors[0])
    mean = np.array([1, *(view.weight for view in views)], dtype=np.float32) @ vectors
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)
