"""The index as the pipeline's stages use it: current at every request, open for as long as one uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge.open.handle import IndexHandle
from knowledge.open.index import Index
from rag.adapters.embedding.remembering import Remembering

if TYPE_CHECKING:
    from knowledge.types import Vector


@dataclass(frozen=True, slots=True)
class LiveIndex:
    """The current index, looked after: a replaced or newly made one is noticed at the next request."""

    handle: IndexHandle

    @contextmanager
    def lease(self) -> Iterator[Index]:
        """One immutable open index for the length of a ``with`` block.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        self.handle.refresh()
        with self.handle.lease() as index:
            yield index

    def embed(self, text: str) -> Vector:
        """The unit vector of ``text`` in the current index's own space, shape (dimensions,)."""
        with self.lease() as index:
            vector: Vector = index.embedder.embed([text])[0]
            return vector

    def embed_ahead(self, text: str) -> None:
        """Begin what ``embed`` will need, where it takes a call to another machine."""
        with self.lease() as index:
            if isinstance(index.embedder, Remembering):
                index.embedder.ahead(text)

    def fields(self) -> Mapping[str, str]:
        """See ``rag.ports.Index``."""
        with self.lease() as index:
            return index.fields
