"""The client of an OpenAI-compatible server: connections, one bounded call, and its errors as ours.

``openai`` is imported on first use, or by ``OpenAiServer.client``: a program without calls does not load it. Errors
lose the server's words, which may repeat the prompt, the question or the key: a log prints an error with its causes.
"""

from __future__ import annotations

import re
import socket
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from rag.adapters.llm.backoff import retry_after_s
from rag.adapters.llm.openai_wire import ErrorAction, classify_error, names_context_window, refused_parameter
from rag.adapters.time_limit import stream_within
from rag.errors import (
    ContextTooLong,
    LlmDenied,
    LlmFailed,
    LlmTooSlow,
    LlmUnavailable,
    ParameterRefused,
    RequestRefused,
)

if TYPE_CHECKING:
    import httpx2
    from openai import APIResponse, APIStatusError, OpenAI, Timeout

    type Request = Callable[[OpenAI, Timeout], AbstractContextManager[APIResponse[Any]]]
    "Starts a streamed response, for example ``client.chat.completions.with_streaming_response.create``."

MAX_ERROR_BYTES = 64 * 1024
"""Most bytes of an error's body, which the client reads as a whole."""


def make_connections() -> httpx2.Client:
    """Make the SDK's HTTP client with three changes.

    It follows no redirect, which could send the prompt anywhere. It accepts no compression: a thousand bytes can be a
    gigabyte. Of an error it reads at most ``MAX_ERROR_BYTES``.
    """
    import openai

    return openai.DefaultHttpxClient(
        follow_redirects=False, headers={"Accept-Encoding": "identity"}, event_hooks={"response": [_bound_error]}
    )


def close_connections(client: OpenAI) -> None:
    """Close the connections of the client's pools and keep the client: making another takes 44 ms of CPU.

    There is no public way. A closed pool opens new connections when it is used again.
    """
    http = client._client
    for transport in (http._transport, *http._mounts.values()):
        if transport is not None:
            transport.close()


def hang_up(response: APIResponse[Any]) -> None:
    """Shut down the connection of a response that another thread is reading: closing would not wake that thread."""
    stream = response.http_response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream else None
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _bound_error(response: httpx2.Response) -> None:
    """Limit the body of an error; called after a response's headers and before its body."""
    if response.status_code >= 300:
        response.headers.pop("Content-Encoding", None)
        response.stream = _bounded()(response.stream)


@cache
def _bounded() -> Any:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        """A stream of the first ``MAX_ERROR_BYTES`` of ``inner``."""

        def __init__(self, inner: httpx2.SyncByteStream) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            remaining = MAX_ERROR_BYTES
            for part in self._inner:
                yield part[:remaining]
                remaining -= len(part)
                if remaining <= 0:
                    return

        def close(self) -> None:
            """Release the connection."""
            self._inner.close()

    return Bounded


KEPT_FIELDS = ("code", "type", "param")
KEY_PART = 6
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


def redact(error: BaseException) -> None:
    """Remove the server's words from ``error`` and its causes; classes and the system's messages stay.

    A failed connection has the system's words: no route, refused, a wrong certificate.
    """
    from httpcore2 import ConnectError

    for one in _causes(error):
        if not isinstance(one, OSError | ConnectError):
            one.args = ()


def redact_keeping_identifiers(error: APIStatusError, *, key: str) -> None:
    """Redact ``error`` but keep short identifiers of its body, such as a code.

    An identifier that is in the request too, or contains a part of ``key``, is removed.
    """
    redact(error)
    error.args = (", ".join([f"status {error.status_code}", *_identifiers(error, key)]),)


def _identifiers(error: APIStatusError, key: str) -> Iterator[str]:
    fields = error.body if isinstance(error.body, Mapping) else {}
    asked = error.request.content.decode("utf-8", "replace").casefold()
    for name in KEPT_FIELDS:
        value = str(fields.get(name) or "")
        if _IDENTIFIER.fullmatch(value) and value.casefold() not in asked and not _has_key_part(value, key):
            yield f"{name} {value}"


def _has_key_part(value: str, key: str) -> bool:
    """Return whether ``value`` has ``KEY_PART`` consecutive characters of ``key``, or all of a shorter one."""
    value, key = value.casefold(), key.casefold()
    return any(key[at : at + KEY_PART] in value for at in range(max(1, len(key) - KEY_PART + 1)))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and its causes, each once."""
    pending, seen = [error], set[int]()
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            pending += [other for other in (one.__cause__, one.__context__) if other is not None]


PLACEHOLDER_KEY = "none"
"""Sent if no key is set: the client requires one, servers such as Ollama ignore it."""


class Transient(LlmUnavailable):
    """A temporary failure, worth a retry."""


class TimedOut(Transient, LlmTooSlow):
    """One call exceeded its time."""


class ModelNotFound(LlmUnavailable):
    """The server does not have the model."""


class OpenAiServer:
    """One server and account. An instance serves any number of threads with one client.

    Messages call the server ``noun`` and its result ``answer``. ``api_key`` is called before each call and should cache
    the key. ``wall_clock`` (Unix seconds) is compared with retry-after dates.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: Callable[[], str],
        connect_timeout_s: float,
        max_body_bytes: int,
        noun: str,
        answer: str,
        wall_clock: Callable[[], float],
    ) -> None:
        self._base_url = base_url
        self._read_key = api_key
        self._connect_timeout_s = connect_timeout_s
        self._max_body_bytes = max_body_bytes
        self._noun = noun
        self._answer = answer
        self._wall_clock = wall_clock
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def client(self) -> OpenAI:
        """Return the client with the current key, built on first use.

        Raises:
            LlmDenied: the key or the base URL cannot be used.
        """
        with self._lock:
            key = self._current_key()
            client = self._ensure_client()
            client.api_key = key  # each new request reads it
            return client

    def warm(self) -> None:
        """Build the client, which reads the machine's certificates, without reading a key and without a call.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        with self._lock:
            self._ensure_client()

    def reset(self) -> None:
        """Close all connections and forget the key; the client stays. Not to be called during calls."""
        with self._lock:
            if self._client is not None:
                self._client.api_key = PLACEHOLDER_KEY
                close_connections(self._client)

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

        Raises:
            Transient, ModelNotFound, LlmDenied, LlmFailed: as ``call``.
        """
        client = self.client()
        responses: list[APIResponse[Any]] = []
        with self._translate_errors(client.api_key):
            try:
                silence_s = max(limit_s, pause_s)
                stream_within(
                    limit_s, lambda put: self._read(client, request, silence_s, put, responses), take, left_s=left_s
                )
            except BaseException:
                for response in responses:
                    hang_up(response)
                raise

    @contextmanager
    def _translate_errors(self, key: str) -> Iterator[None]:
        """Translate errors of the vendor's client into ours, without the server's words."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as exc:
            redact_keeping_identifiers(exc, key=key)
            raise self._translate(exc) from exc
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException) as exc:
            redact(exc)
            raise TimedOut(f"{self._noun} call timed out") from exc
        except httpx2.DecodingError as exc:
            redact(exc)
            raise LlmFailed(f"Unreadable {self._answer}: bad content encoding") from exc
        except (openai.APIConnectionError, httpx2.RequestError) as exc:
            redact(exc)
            # openai wraps failures before the response's headers, and lets failures in its body through.
            reason = exc.__cause__ or exc
            message = f"{self._noun} connection failed ({type(reason).__name__})"
            if isinstance(reason, httpx2.UnsupportedProtocol):
                raise LlmDenied(message) from exc
            raise Transient(message) from exc

    def _read(
        self,
        client: OpenAI,
        request: Request,
        silence_s: float,
        put: Callable[[bytes], object],
        responses: list[APIResponse[Any]],
    ) -> None:
        """Pass the body to ``put`` part by part, with pauses of at most ``silence_s``."""
        from openai import Timeout

        size = 0
        with request(client, Timeout(silence_s, connect=min(self._connect_timeout_s, silence_s))) as response:
            responses.append(response)
            for part in response.iter_bytes():
                put(part)
                size += len(part)
                if size > self._max_body_bytes:
                    raise LlmFailed(f"Unreadable {self._answer}: too long")

    def _translate(self, exc: APIStatusError) -> LlmUnavailable | LlmFailed:
        retry_after = retry_after_s(exc.response.headers, now=self._wall_clock())
        message = f"{self._noun} answered {exc.status_code} ({type(exc).__name__})"
        if exc.response.is_redirect:
            message += ": its base URL redirects, which is not followed; it must be the address that this leads to"
        match classify_error(exc.status_code, exc.body, has_retry_after=retry_after is not None):
            case ErrorAction.RETRY:
                return Transient(message, retry_after=retry_after)
            case ErrorAction.NEXT_MODEL:
                return ModelNotFound(message)
            case ErrorAction.UNAVAILABLE:
                return LlmDenied(message, retry_after=retry_after)
            case ErrorAction.FAILED if names_context_window(exc.body):
                return ContextTooLong(f"{message}: the prompt exceeds its context window")
            case ErrorAction.FAILED if parameter := refused_parameter(exc.body):
                return ParameterRefused(f"{message}: it does not take {parameter} as it was sent", parameter)
            case ErrorAction.FAILED:
                return RequestRefused(message)

    def _current_key(self) -> str:
        key = self._read_key().strip()  # a secret from a file often ends in a newline
        # h11 prints a header that it refuses: such a key must not reach it.
        if not (key.isascii() and key.isprintable()):
            raise LlmDenied(f"The {self._noun}'s API key holds characters that an HTTP header cannot carry")
        return key or PLACEHOLDER_KEY

    def _ensure_client(self) -> OpenAI:
        if self._client is not None:
            return self._client
        import httpx2
        import openai

        connections = make_connections()
        try:
            client = openai.OpenAI(
                api_key=PLACEHOLDER_KEY,
                base_url=self._base_url,
                http_client=connections,
                # Empty, not None: the client replaces None by OPENAI_* variables.
                admin_api_key="",
                webhook_secret="",
                organization="",
                project="",
                max_retries=0,
            )
        except httpx2.InvalidURL as exc:
            raise LlmDenied(f"The {self._noun}'s base URL is not a URL") from exc
        client.organization = None  # an empty one would be sent as an empty header
        client.project = None
        # OPENAI_CUSTOM_HEADERS is read whatever is passed, and there is no public way to refuse it.
        client._custom_headers = {}
        weakref.finalize(client, connections.close).atexit = False  # as the client does with its own connections
        self._client = client
        return client
