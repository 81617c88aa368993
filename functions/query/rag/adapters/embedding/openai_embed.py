"""An embedding model behind any OpenAI-compatible API (OpenAI, Ollama ...): batches, retries, unit vectors.

``openai`` is imported at the first call, or by ``warm``.
"""

from __future__ import annotations

import logging
import random as random_module
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.adapters.embedding.openai_embed_wire import batches, read_vectors
from rag.adapters.llm.backoff import backoff_s
from rag.adapters.llm.openai_client import OpenAiServer, Transient
from rag.adapters.model_config import EmbedConfig
from rag.errors import EmbeddingFailed, EmbeddingUnavailable, LlmFailed, LlmUnavailable

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI, Timeout

    from knowledge.model.values import Matrix

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024 * 1024
"""256 vectors of 4,096 numbers written out take 24 MB."""

OWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
"""The models whose vectors can be asked for in a shorter form, and how long they are by themselves."""


class OpenAiEmbedder:
    """An ``Embedder`` on the ``openai`` client. One instance serves any number of threads.

    ``sleep``, ``clock`` (monotonic seconds), ``random`` (0..1) and ``wall_clock`` (Unix seconds, for retry-after
    dates) are there for tests.
    """

    def __init__(
        self,
        config: EmbedConfig,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self._dimensions = config.dimensions or OWN_DIMENSIONS.get(config.model)
        self._sleep = sleep
        self._clock = clock
        self._random = random
        self._server = OpenAiServer(
            base_url=config.base_url,
            api_key=config.api_key,
            connect_timeout_s=config.limits.connect_s,
            max_body_bytes=MAX_BODY_BYTES,
            noun="Embedder",
            answer="embeddings",
            wall_clock=wall_clock,
        )

    @property
    def model(self) -> str:
        """The model's name, as manifests record it and the server knows it."""
        return self.config.model

    @property
    def dimensions(self) -> int:
        """Length of each vector; where nobody said it, one call finds out.

        Raises:
            EmbeddingUnavailable, EmbeddingFailed: as ``embed``.
        """
        if self._dimensions is None:
            self._dimensions = self._embed_batch(["dimensions"]).shape[1]
        return self._dimensions

    def sized(self, dimensions: int) -> OpenAiEmbedder:
        """This embedder for an index whose vectors have ``dimensions`` numbers, with the same server and client.

        Dimensions that were configured stay: the index's check tells when they differ.
        """
        if self.config.shorten:
            return self
        own = OWN_DIMENSIONS.get(self.model)
        twin = copy(self)
        twin.config = replace(self.config, dimensions=dimensions, shorten=own is not None and own != dimensions)
        twin._dimensions = dimensions
        return twin

    def warm(self) -> None:
        """Import the library and build the client, without reading a key or calling anybody.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        import openai.resources.embeddings  # noqa: F401

        self._server.warm()

    def renew(self) -> None:
        """Close all connections and forget the key. Not while calls are under way."""
        self._server.reset()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See ``knowledge.model.values.Embedder``; ``texts`` of any number and length are sent in batches.

        Retries what may pass after the server's retry-after or ``backoff_s``, and gives up as soon as the next
        pause does not fit into the limits.

        Raises:
            EmbeddingUnavailable: the model cannot be reached, not in time, or not by this account.
            EmbeddingFailed: the request was refused, or the vectors are unusable or of another length.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([self._embed_batch(batch) for batch in batches(texts)])

    def _embed_batch(self, texts: Sequence[str]) -> Matrix:
        limits = self.config.limits
        give_up_at = self._clock() + limits.batch_s
        attempt = 1
        while True:
            try:
                self._server.client()  # making it takes time, which the call's limit must not count on
                limit_s = min(limits.call_s, give_up_at - self._clock())
                body = self._server.call(lambda client, timeout: self._request(client, timeout, texts), limit_s=limit_s)
                return read_vectors(body, count=len(texts), dimensions=self._dimensions)
            except Transient as exc:
                pause_s = self._pause_s(attempt, exc)
                if attempt > limits.retries or self._clock() + pause_s >= give_up_at:
                    raise EmbeddingUnavailable(self._said(exc, attempt), retry_after=exc.retry_after) from exc
                logger.warning("%s; call %d follows in %.2f s", exc, attempt + 1, pause_s)
            except LlmUnavailable as exc:
                raise EmbeddingUnavailable(self._said(exc, attempt), retry_after=exc.retry_after) from exc
            except EmbeddingFailed:
                raise
            except LlmFailed as exc:
                raise EmbeddingFailed(self._said(exc, attempt)) from exc
            self._sleep(pause_s)
            attempt += 1

    def _request(
        self, client: OpenAI, timeout: Timeout, texts: Sequence[str]
    ) -> AbstractContextManager[APIResponse[Any]]:
        from openai import omit

        config = self.config
        return client.embeddings.with_streaming_response.create(
            model=config.model,
            input=[config.prefix + text for text in texts],
            dimensions=config.dimensions if config.shorten and config.dimensions is not None else omit,
            encoding_format="base64",  # a third of the bytes; a server that knows only lists sends lists
            timeout=timeout,
        )

    def _pause_s(self, attempt: int, error: Transient) -> float:
        if error.retry_after is not None:
            return error.retry_after
        limits = self.config.limits
        return backoff_s(attempt, random=self._random, base=limits.base_s, cap=limits.cap_s, jitter=limits.jitter)

    def _said(self, error: Exception, calls: int) -> str:
        return f"{error}, model {self.model!r}, {calls} {'call' if calls == 1 else 'calls'}"
