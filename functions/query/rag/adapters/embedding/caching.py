"""An embedder that remembers the last questions: one request asks for the same vector several times."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TYPE_CHECKING

from cachetools import LRUCache

from knowledge.model.values import Embedder

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

MAX_QUESTIONS = 64


class CachingEmbedder:
    """Wraps ``inner``, an embedder behind an API, where each call costs time and money.

    Search, cache and feedback each need the question's vector: whoever asks for one that is under way waits for it.
    Only single texts are remembered: several at once are passages. Failures are not remembered. Serves any number of
    threads.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._asked: LRUCache[str, Future[Matrix]] = LRUCache(MAX_QUESTIONS)
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
        """See ``knowledge.model.values.Embedder``."""
        if len(texts) != 1:
            return self._inner.embed(texts)
        vector, is_new = self._vector_of(texts[0])
        if is_new:
            self._ask(texts[0], vector)
        return vector.result()

    def ahead(self, text: str) -> None:
        """Begin to embed ``text`` and return at once; ``embed`` has the vector, or the error."""
        vector, is_new = self._vector_of(text)
        if is_new:
            # A daemon: an answer that the cache had must not wait for a vector that nobody will use.
            Thread(target=self._ask, args=(text, vector), daemon=True).start()

    def know(self, text: str, vector: Matrix) -> None:
        """Let ``vector``, shape (1, dimensions), be that of ``text``, without asking for it."""
        known: Future[Matrix] = Future()
        known.set_result(vector)
        with self._lock:
            self._asked[text] = known

    def _vector_of(self, text: str) -> tuple[Future[Matrix], bool]:
        """The vector of ``text`` to come, and whether the caller has to ask for it."""
        with self._lock:
            vector = self._asked.get(text)
            if vector is not None:
                return vector, False
            vector = self._asked[text] = Future()
            return vector, True

    def _ask(self, text: str, vector: Future[Matrix]) -> None:
        try:
            matrix = self._inner.embed([text])
        except BaseException as exc:  # noqa: BLE001 - whoever waits for it raises it
            with self._lock:
                if self._asked.get(text) is vector:
                    del self._asked[text]
            vector.set_exception(exc)
        else:
            matrix.flags.writeable = False  # it is handed out again
            vector.set_result(matrix)
