"""The embedder of an index: the local model, or one behind an API, whose last vectors are cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Lock
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
from rag.adapters.time_limit import run_in_thread
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
        return self.embed_ahead(texts[0]).result() if len(texts) == 1 else self._inner.embed(texts)

    def embed_ahead(self, text: str) -> Future[Matrix]:
        """Start to embed ``text`` and return at once; ``embed`` returns the vector or raises the error."""
        with self._lock:
            if text not in self._futures:
                self._futures[text] = run_in_thread(partial(self._embed_question, text))
            return self._futures[text]

    def store_vector(self, text: str, vector: Matrix) -> None:
        """Cache ``vector``, shape (1, dimensions), for ``text``."""
        done: Future[Matrix] = Future()
        done.set_result(vector)
        with self._lock:
            self._futures[text] = done

    def _embed_question(self, text: str) -> Matrix:
        try:
            matrix = self._inner.embed([text])
        except BaseException:
            with self._lock:
                if text in self._futures and not self._futures[text].done():  # a stored vector stays
                    del self._futures[text]
            raise
        matrix.flags.writeable = False  # it is shared
        return matrix


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
