"""The port of a search: the chunks that a look compares, and what is kept of each. Every kind of index fills it.

An embedded index has arrays of all chunks (``knowledge.search.local_pool``); one on Chroma's server has those of the
chunks that it was asked for (``knowledge.engines.server``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from knowledge.search.candidates import Signal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector, View, Where
    from knowledge.search.codes import CodeStore
    from knowledge.search.windows import WindowStore


@dataclass(frozen=True, slots=True, eq=False)
class StoredTokens:
    """What is kept of the tokens of some chunks, by ``rows`` of ``codes`` and ``windows``: shape (n,)."""

    codes: CodeStore
    windows: WindowStore
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """The n chunks that are compared, by their ``numbers``, ascending.

    ``vectors`` are theirs, one a row. ``bm25`` gives, by text, their scores with mean and deviation over the whole
    index. ``admitted`` says of each view which of them are within its filter, shape (n,); None: all.
    """

    numbers: NDArray[np.int64]
    vectors: Matrix
    tokens: StoredTokens
    bm25: Mapping[str, Signal]
    admitted: Sequence[NDArray[np.bool_] | None]


class PassageSource(Protocol):
    """Where a search finds chunks. Safe to ask from several threads."""

    def pool(self, asked: Mapping[str, Vector], views: Sequence[View], where: Where | None) -> Pool:
        """What any of ``views`` finds within ``where``; ``asked`` has the unit vector of each different text of theirs.

        Raises:
            SearchFailed: the filter is malformed, or the query failed.
        """
        ...

    def tokens(self, numbers: Sequence[int]) -> StoredTokens:
        """What is kept of the chunks with these numbers, in their order.

        Raises:
            SearchFailed: there is no such chunk, or the query failed.
        """
        ...
