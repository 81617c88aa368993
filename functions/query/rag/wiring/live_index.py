"""The current index for the stages of the pipeline, checked for a new version at every request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge.embedding import question_text
from knowledge.model.values import TokenEmbedder
from knowledge.open.handle import IndexHandle, open_anywhere, watch
from knowledge.open.opened import ChromaIndex
from rag.adapters.embedding.embedders import CachingEmbedder, index_embedder
from rag.adapters.secrets import index_key
from rag.config.settings import Settings

if TYPE_CHECKING:
    from knowledge.model.values import Embedder, Vector
    from rag.ports import RemoteEmbedder


@dataclass(frozen=True, slots=True)
class LiveIndex:
    """The current index; a replaced or new one is opened at the next request.

    Every method raises IndexUnavailable if there is no usable index.
    """

    handle: IndexHandle

    @contextmanager
    def lease(self) -> Iterator[ChromaIndex]:
        """Give one immutable open index for the length of a ``with`` block."""
        self.handle.refresh()
        with self.handle.lease() as index:
            yield index

    def language_unlike(self, text: str) -> str:
        """Return the English name of the documents' language if ``text`` is in another one, else ``""``."""
        with self.lease() as index:
            return index.language_unlike(text)

    def embed(self, text: str) -> Vector:
        """Return the unit vector of the question ``text`` by the current index's embedder, shape (dimensions,)."""
        with self.lease() as index:
            embedder, query = index.embedder, question_text(text)
            if isinstance(embedder, TokenEmbedder):
                return embedder.read(query).vector  # cached by the search
            vector: Vector = embedder.embed([query])[0]
            return vector

    def embed_ahead(self, text: str) -> None:
        """Start the embedding of ``text`` if it needs a call to another machine."""
        with self.lease() as index:
            if isinstance(index.embedder, CachingEmbedder):
                index.embedder.embed_ahead(question_text(text))

    def version(self) -> str:
        """Return the version of the content."""
        with self.lease() as index:
            return index.version

    def fields(self) -> Mapping[str, str]:
        """See ``rag.ports.Index``."""
        with self.lease() as index:
            return index.fields


def open_live_index(settings: Settings, *, local: Embedder, remote: RemoteEmbedder | None) -> LiveIndex:
    """Open the index that ``settings`` name; one that cannot be opened is a state, not an error."""

    def open_current() -> ChromaIndex:
        place, collection = settings.index_place, settings.collection
        embedder = index_embedder(place, local=local, remote=remote, collection=collection, token=token)
        if remote:
            embedder = CachingEmbedder(embedder)
        # An index that may change lies on a shared file system; mapped files would change under their reader.
        copy_first = settings.is_index_replaceable
        return open_anywhere(place, embedder=embedder, collection=collection, copy_first=copy_first, token=token)

    def version() -> str:
        # late: few have an index on a server
        from knowledge.open.server_index import ServerIndex, current_version

        if isinstance(opened := index.handle.opened, ServerIndex):
            return opened.current_version()  # over connections that there are
        return current_version(settings.index_place, collection=settings.collection, token=token)

    token = index_key(settings)
    index = LiveIndex(IndexHandle(open_current, changed=watch(settings.index_place, version)))
    index.handle.refresh()  # at init time, and so into the snapshot, not at the first request
    return index
