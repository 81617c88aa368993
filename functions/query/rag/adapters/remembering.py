"""An embedder that remembers the last questions: one request asks for the same vector several times."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from cachetools import LRUCache

from rag.types import Embedder

if TYPE_CHECKING:
    from knowledge.types import Matrix

MAX_QUESTIONS = 64


class Remembering:
    """Wraps ``inner``, an embedder behind an API, where each call costs time and money.

    Search, cache and feedback each need the question's vector. Only single texts are remembered: several at once
    are passages. Serves any number of threads.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known: LRUCache[str, Matrix] = LRUCache(MAX_QUESTIONS)
        self._lock = Lock()

    @property
    def model(self) -> str:
        """The inner embedder's."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See ``knowledge.types.Embedder``."""
        if len(texts) != 1:
            return self._inner.embed(texts)
        with self._lock:
            known = self._known.get(texts[0])
        if known is None:
            known = self._inner.embed(texts)
            known.flags.writeable = False  # it is handed out again
            with self._lock:
                self._known[texts[0]] = known
        return known
