"""The client of an OpenAI-compatible server: connections, retries, and one call within a time limit.

``openai`` is imported on first use, so a program without calls does not load it.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag.adapters.llm.openai_errors import Transient, translate_errors
from rag.adapters.model_config import BackoffPolicy
from rag.adapters.time_limit import stream_within
from rag.errors import LlmDenied, LlmFailed

if TYPE_CHECKING:
    import httpx2
    from openai import APIResponse, OpenAI, Timeout

    type StreamedResponse = AbstractContextManager[APIResponse[Any]]
    "The result of a function such as ``client.chat.completions.with_streaming_response.create``."
    type Request = Callable[[OpenAI, Timeout], StreamedResponse]

MAX_ERROR_BYTES = 64 * 1024
"""Most bytes of an error's body, which the client reads as a whole."""


def hang_up(response: APIResponse[Any]) -> None:
    """Shut down the connection of a response that another thread is reading: closing would not wake that thread."""
    stream = response.http_response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream else None
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def bound_error(response: httpx2.Response) -> None:
    """Limit the body of an error to ``MAX_ERROR_BYTES``; called after a response's headers and before its body."""
    import httpx2

    if response.status_code < 300:
        return
    stream: Any = response.stream
    body = bytearray()
    with closing(stream):
        for part in stream:
            body += part
            if len(body) >= MAX_ERROR_BYTES:
                break
    response.headers.pop("Content-Encoding", None)
    response.stream = httpx2.ByteStream(bytes(body[:MAX_ERROR_BYTES]))


PLACEHOLDER_KEY = "none"
"""Sent if no key is set: the client requires one, servers such as Ollama ignore it."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class OpenAiServer:
    """One server and account. An instance serves any number of threads with one client.

    Messages call the server ``noun`` and its result ``answer``. ``api_key`` is called before each call and should cache
    the key. Tests replace ``sleep``, ``random`` (0..1), ``clock`` (monotonic seconds) and ``wall_clock`` (Unix seconds,
    for retry-after dates).
    """

    base_url: str
    api_key: Callable[[], str]
    connect_timeout_s: float
    max_body_bytes: int
    noun: str
    answer: str
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    _client: OpenAI | None = field(default=None, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    def warm(self) -> OpenAI:
        """Return the client, built on first use with the machine's certificates; reads no key and makes no call.

        Raises:
            LlmDenied: the base URL cannot be used.
        """
        with self._lock:
            if self._client is not None:
                return self._client
            import httpx2
            import openai

            connections = openai.DefaultHttpxClient(
                follow_redirects=False,  # one could send the prompt anywhere
                headers={"Accept-Encoding": "identity"},  # a compressed body of a thousand bytes can be a gigabyte
                event_hooks={"response": [bound_error]},
            )
            try:
                client = openai.OpenAI(
                    api_key=PLACEHOLDER_KEY,
                    base_url=self.base_url,
                    http_client=connections,
                    # Empty, not None: the client replaces None by OPENAI_* variables.
                    admin_api_key="",
                    webhook_secret="",
                    organization="",
                    project="",
                    max_retries=0,
                )
            except httpx2.InvalidURL as exc:
                raise LlmDenied(f"The {self.noun}'s base URL is not a URL") from exc
            client.organization = client.project = None  # an empty one would be sent as an empty header
            # OPENAI_CUSTOM_HEADERS is read whatever is passed, and there is no public way to refuse it.
            client._custom_headers = {}
            weakref.finalize(client, connections.close).atexit = False  # as the client does with its own connections
            self._client = client
            return client

    def client(self) -> OpenAI:
        """Return the client with the current key, built on first use.

        Raises:
            LlmDenied: the key or the base URL cannot be used.
        """
        with self._lock:
            key = self.api_key().strip()  # a secret from a file often ends in a newline
            # h11 prints a header that it refuses: such a key must not reach it.
            if not (key.isascii() and key.isprintable()):
                raise LlmDenied(f"The {self.noun}'s API key holds characters that an HTTP header cannot carry")
            client = self.warm()
            client.api_key = key or PLACEHOLDER_KEY  # each new request reads it
            return client

    def reset(self) -> None:
        """Close all connections and forget the key; the client stays. Not to be called during calls."""
        with self._lock:
            if self._client is None:
                return
            self._client.api_key = PLACEHOLDER_KEY
            # There is no public way to close the connections and keep the client; making another takes 44 ms of CPU.
            # A closed pool opens new connections when it is used again.
            http = self._client._client
            for transport in (http._transport, *http._mounts.values()):
                if transport is not None:
                    transport.close()

    def retry[T](self, attempt: Callable[[], T], policy: BackoffPolicy, left_s: Callable[[], float]) -> T:
        """Return the result of ``attempt``, which is tried again after each ``Transient`` failure.

        The pause is the server's retry-after, else ``policy``'s. The failure is raised if no retry is left, or if the
        pause would take the ``left_s`` seconds that are left then.
        """
        number = 1
        while True:
            try:
                return attempt()
            except Transient as exc:
                pause_s = exc.retry_after
                if pause_s is None:
                    pause_s = policy.pause_s(number, draw=self.random())
                if number > policy.retries or pause_s >= left_s():
                    raise
                logger.warning("%s; call %d follows in %.2f s", exc, number + 1, pause_s)
            self.sleep(pause_s)
            number += 1

    def call(self, request: Request, *, limit_s: float) -> bytes:
        """Return the body of the response to ``request``, made once, within ``limit_s`` seconds in all.

        Raises:
            Transient: a retry may help; ``retry_after`` is the server's wish.
            ModelNotFound: the server does not have the model.
            LlmDenied: no retry helps (key, account, address).
            RequestRefused, or a kind of it: the request was refused. LlmFailed: the body is unreadable.
        """
        body = bytearray()
        self.stream(request, body.extend, limit_s=limit_s)
        return bytes(body)

    def stream(
        self,
        request: Request,
        take: Callable[[bytes], None],
        *,
        limit_s: float,
        left_s: Callable[[], float | None] = lambda: None,
        pause_s: float = 0.0,
    ) -> None:
        """Call as ``call`` does, and pass the body's parts to ``take`` as they arrive, ``b""`` during a pause.

        ``left_s`` replaces ``limit_s`` as in ``stream_within``; the connection may then be silent for ``pause_s``.
        An exception of ``take`` ends the call and is raised unchanged.
        """
        client = self.client()
        silence_s = max(limit_s, pause_s)
        responses: list[APIResponse[Any]] = []

        def read(put: Callable[[bytes], None]) -> None:
            from openai import Timeout

            size = 0
            with request(client, Timeout(silence_s, connect=min(self.connect_timeout_s, silence_s))) as response:
                responses.append(response)
                for part in response.iter_bytes():
                    put(part)
                    size += len(part)
                    if size > self.max_body_bytes:
                        raise LlmFailed(f"Unreadable {self.answer}: too long")

        with translate_errors(self.noun, self.answer, key=client.api_key, wall_clock=self.wall_clock):
            try:
                stream_within(limit_s, read, take, left_s=left_s)
            except BaseException:
                for response in responses:
                    hang_up(response)
                raise
