"""The embedder of an index: the local model, or one behind an API, whose last vectors are cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Literal

from cachetools import LRUCache

from knowledge.engines.server.address import is_server
from knowledge.model.errors import IndexMismatch
from knowledge.model.values import Embedder
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.place import folder_of, read_manifest
from rag.adapters import vendors
from rag.adapters.model_config import CallLimits, EmbedConfig
from rag.adapters.secrets import embedder_key
from rag.config.settings import Settings
from rag.ports import RemoteEmbedder

if TYPE_CHECKING:
    from knowledge.model.values import Matrix

MAX_QUESTIONS = 64


class CachingEmbedder:
    """Caches the last vectors of ``inner``, an embedder behind an API.

    Search, cache and feedback each need the question's vector: all wait for the same call. Only single texts are
    cached, since several at once are passages. Failures are not cached. Serves any number of threads.
    """

    def __init__(self, inner: Embedder) -> None:
        self.model = inner.model
        self._inner = inner
        self._futures: LRUCache[str, Future[Matrix]] = LRUCache(MAX_QUESTIONS)
        self._lock = Lock()

    @property
    def dimensions(self) -> int:
        """The dimensions of the inner embedder."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See ``knowledge.model.values.Embedder``."""
        if len(texts) != 1:
            return self._inner.embed(texts)
        vector, is_new = self._vector_of(texts[0])
        if is_new:
            self._ask(texts[0], vector)
        return vector.result()

    def embed_ahead(self, text: str) -> None:
        """Start to embed ``text`` and return at once; ``embed`` returns the vector or raises the error."""
        vector, is_new = self._vector_of(text)
        if is_new:
            # A daemon: an answer from the cache must not wait for a vector that is not needed.
            Thread(target=self._ask, args=(text, vector), daemon=True).start()

    def store_vector(self, text: str, vector: Matrix) -> None:
        """Cache ``vector``, shape (1, dimensions), for ``text``."""
        done: Future[Matrix] = Future()
        done.set_result(vector)
        with self._lock:
            self._futures[text] = done

    def _vector_of(self, text: str) -> tuple[Future[Matrix], bool]:
        """Return the future vector of ``text``, and whether the caller must compute it."""
        with self._lock:
            vector = self._futures.get(text)
            if vector is not None:
                return vector, False
            vector = self._futures[text] = Future()
            return vector, True

    def _ask(self, text: str, vector: Future[Matrix]) -> None:
        try:
            matrix = self._inner.embed([text])
        except BaseException as exc:  # noqa: BLE001 - raised again by all that wait
            with self._lock:
                if self._futures.get(text) is vector:
                    del self._futures[text]
            vector.set_exception(exc)
        else:
            matrix.flags.writeable = False  # it is shared
            vector.set_result(matrix)


type Side = Literal["question", "document"]

OPENAI_URL = "https://api.openai.com/v1"

QUESTION_LIMITS = CallLimits(connect_s=2.0, call_s=4.0, batch_s=5.0, retries=2, base_s=0.2, cap_s=1.0)
"""A reader is waiting, and the LLM comes after this."""

INGEST_LIMITS = CallLimits(connect_s=10.0, call_s=60.0, batch_s=600.0, retries=8, base_s=1.0, cap_s=60.0)
"""Limits per minute pass; giving up would cost a person's attention."""


PREFIXES: dict[str, dict[Side, str]] = {
    "nomic-embed-text": {"question": "search_query: ", "document": "search_document: "},
}
"""The text that a family of models (the name up to a ":") needs before each text; its servers do not add it."""


def remote_embedder(settings: Settings, *, side: Side) -> RemoteEmbedder | None:
    """Return the embedder behind an API that ``settings`` name, None without EMBED_MODEL; makes no call.

    An embedder of questions gives up after seconds, one of documents after minutes.
    """
    if not settings.embed_model:
        return None
    return vendors.build_remote_embedder(
        EmbedConfig(
            base_url=settings.embed_base_url or settings.llm_base_url or OPENAI_URL,
            api_key=embedder_key(settings),
            model=settings.embed_model,
            dimensions=settings.embed_dimensions or None,
            shorten=settings.embed_dimensions > 0,
            prefix=PREFIXES.get(settings.embed_model.partition(":")[0], {}).get(side, ""),
            limits=QUESTION_LIMITS if side == "question" else INGEST_LIMITS,
        )
    )


def index_embedder(
    place: str | Path,
    *,
    local: Embedder,
    remote: RemoteEmbedder | None,
    collection: str = DEFAULT_COLLECTION,
    token: Callable[[], str] = str,
) -> Embedder:
    """Return the embedder of the index at ``place``; an index on a server needs its ``collection`` and ``token``.

    A folder without a manifest of ours belongs to MiniLM. ``remote`` gets the dimensions that the index records, so
    that opening a folder needs no network.

    Raises:
        IndexMismatch: the index was made with another model; the message names the right EMBED_MODEL.
        IndexMissing, IndexDamaged, IndexUnreachable: see ``knowledge.open``.
    """
    if is_server(place):
        from knowledge.open.server_index import server_model  # late: few have an index on a server

        model, dimensions = server_model(str(place), collection=collection, token=token)
    elif manifest := read_manifest(folder_of(place)):
        model, dimensions = manifest.model, manifest.dimensions
    else:
        return local
    chosen = local if remote is None else remote
    if model != chosen.model:
        wanted = "unset EMBED_MODEL" if model == local.model else f"set EMBED_MODEL={model}"
        raise IndexMismatch(
            f"The index was made with embedding model {model!r}, this program uses {chosen.model!r}:"
            f" {wanted}, or run: ragctl ingest PATH"
        )
    return local if remote is None else remote.sized(dimensions)
