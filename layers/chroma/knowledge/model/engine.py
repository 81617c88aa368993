"""What the search asks of whatever keeps the vectors; ``knowledge.engines`` has the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knowledge.model.values import Vector, Where


class VectorEngine(Protocol):
    """The chunks of an index by their ids. Safe to ask from several threads."""

    def nearest(self, vector: Vector, *, k: int) -> Sequence[str]:
        """The ids of the ``k`` chunks nearest to the unit vector ``vector``.

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def ids(self, where: Where) -> Sequence[str]:
        """The ids of all chunks that the filter ``where`` admits.

        Raises:
            SearchFailed: the filter is malformed, or the query failed.
        """
        ...
