"""An embedding model behind any OpenAI-compatible API (OpenAI, Ollama ...): batches, retries, unit vectors.

``openai`` is imported at the first call, or by ``warm``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rag.adapters.llm.openai_client import OpenAiServer
from rag.adapters.model_config import EmbedConfig
from rag.errors import EmbeddingFailed, EmbeddingUnavailable, LlmFailed, LlmUnavailable
from rag.values.chat import Deadline

if TYPE_CHECKING:
    from openai import OpenAI, Timeout

    from knowledge.model.values import Matrix
    from rag.adapters.llm.openai_client import StreamedResponse

BATCH_TEXTS = 256
BATCH_CHARS = 100_000
"""OpenAI takes 300,000 tokens a request, and no common script has three tokens a character."""


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split ``texts`` into requests, in order.

    Each has at most BATCH_TEXTS texts and, unless one text alone is longer, BATCH_CHARS characters.
    """
    start = chars = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == BATCH_TEXTS or chars + len(text) > BATCH_CHARS):
            yield texts[start:end]
            start, chars = end, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]


def read_vectors(body: bytes, *, count: int, dimensions: int | None = None) -> Matrix:
    """Read the ``count`` vectors of a response, in the order of the request's texts, scaled to unit length.

    An embedding is a list of numbers or base64 of little-endian float32.

    Raises:
        EmbeddingFailed: no JSON, or not ``count`` usable vectors (finite, not zero) of one length, which is
            ``dimensions`` unless that is None.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise EmbeddingFailed("Unreadable embeddings: not JSON") from exc
    items = data.get("data") if isinstance(data, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise EmbeddingFailed("Unreadable embeddings: no list of vectors")
    order = [item.get("index", place) for place, item in enumerate(items)]
    if not all(type(place) is int for place in order) or sorted(order) != list(range(count)):
        raise EmbeddingFailed(f"Unreadable embeddings: {len(items)} vectors for {count} texts, or not one for each")
    rows = [_vector(items[place].get("embedding")) for place in np.argsort(order)]
    if len({len(row) for row in rows}) != 1:
        raise EmbeddingFailed("Unreadable embeddings: vectors of different lengths")
    if dimensions not in (None, len(rows[0])):
        expected = f"{dimensions} are expected (see EMBED_DIMENSIONS)"
        raise EmbeddingFailed(f"Unreadable embeddings: {len(rows[0])} dimensions where {expected}")
    return _unit(np.stack(rows))


def _vector(embedding: object) -> np.ndarray:
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
        if isinstance(embedding, list) and all(type(value) in (int, float) for value in embedding):
            return np.array(embedding, dtype=np.float64)
    except (ValueError, OverflowError) as exc:
        raise EmbeddingFailed("Unreadable embeddings: not a vector") from exc
    raise EmbeddingFailed("Unreadable embeddings: not a vector")


def _unit(rows: np.ndarray) -> Matrix:
    """Scale to unit length, first by the largest coordinate, so that no square overflows or vanishes."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not (np.isfinite(largest).all() and (largest > 0).all()):
        raise EmbeddingFailed("Unreadable embeddings: a vector without a direction")
    scaled = rows / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float32)


MAX_BODY_BYTES = 64 * 1024 * 1024
"""256 vectors of 4,096 numbers take 24 MB as text."""

OWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
"""Models with vectors of selectable length, and their own length."""


class OpenAiEmbedder:
    """An ``Embedder`` on the ``openai`` client. One instance serves any number of threads."""

    def __init__(self, config: EmbedConfig) -> None:
        self.config = config
        self.model = config.model
        self._dimensions = config.dimensions or OWN_DIMENSIONS.get(config.model)
        self.server = OpenAiServer(
            base_url=config.base_url,
            api_key=config.api_key,
            connect_timeout_s=config.limits.connect_s,
            max_body_bytes=MAX_BODY_BYTES,
            noun="Embedder",
            answer="embeddings",
        )

    @property
    def dimensions(self) -> int:
        """Length of each vector; if unknown, one call measures it."""
        if self._dimensions is None:
            self._dimensions = self._embed_batch(["dimensions"]).shape[1]
        return self._dimensions

    def sized(self, dimensions: int) -> OpenAiEmbedder:
        """Return this embedder for an index with vectors of length ``dimensions``, with the same server and client.

        Configured dimensions stay: the index's check reports a difference.
        """
        if self.config.shorten:
            return self
        shorten = OWN_DIMENSIONS.get(self.model, dimensions) != dimensions
        twin = OpenAiEmbedder(replace(self.config, dimensions=dimensions, shorten=shorten))
        twin.server = self.server
        return twin

    def warm(self) -> None:
        import openai.resources.embeddings  # noqa: F401

        self.server.warm()

    def renew(self) -> None:
        self.server.reset()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See ``knowledge.model.values.Embedder``; ``texts`` are sent in batches.

        Temporary failures are retried within the limits, see ``OpenAiServer.retry``.

        Raises:
            EmbeddingUnavailable: no vectors in time, or not for this account.
            EmbeddingFailed: the request was refused, or the vectors are unusable or of another length.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([self._embed_batch(batch) for batch in batches(texts)])

    def _embed_batch(self, texts: Sequence[str]) -> Matrix:
        limits, calls = self.config.limits, 0
        deadline = Deadline.after(limits.batch_s, self.server.clock)

        def attempt() -> Matrix:
            nonlocal calls
            calls += 1
            self.server.client()  # making it takes time that is not the call's
            limit_s = min(limits.call_s, deadline.remaining())
            body = self.server.call(partial(self._request, texts), limit_s=limit_s)
            return read_vectors(body, count=len(texts), dimensions=self._dimensions)

        try:
            return self.server.retry(attempt, limits, deadline.remaining)
        except EmbeddingFailed:
            raise
        except (LlmUnavailable, LlmFailed) as exc:
            message = f"{exc}, model {self.model!r}, {calls} {'call' if calls == 1 else 'calls'}"
            if isinstance(exc, LlmFailed):
                raise EmbeddingFailed(message) from exc
            raise EmbeddingUnavailable(message, retry_after=exc.retry_after) from exc

    def _request(self, texts: Sequence[str], client: OpenAI, timeout: Timeout) -> StreamedResponse:
        from openai import omit

        config = self.config
        return client.embeddings.with_streaming_response.create(
            model=config.model,
            input=[config.prefix + text for text in texts],
            dimensions=config.dimensions if config.shorten and config.dimensions is not None else omit,
            encoding_format="base64",  # a third of the bytes; a server that knows only lists sends lists
            timeout=timeout,
        )
