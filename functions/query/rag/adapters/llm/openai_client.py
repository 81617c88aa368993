"""An OpenAI-compatible server: the client, one bounded call, and its errors in our words.

``openai`` is imported on first use, or by ``OpenAiServer.client``: a program that calls nobody never pays for it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from rag.adapters.llm.backoff import retry_after_s
from rag.adapters.llm.openai_wire import Verdict, judge, names_context_window, refused_parameter
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
    from openai import APIResponse, APIStatusError, OpenAI, Timeout

    type Request = Callable[[OpenAI, Timeout], AbstractContextManager[APIResponse[Any]]]
    """Starts a streamed response, for example ``client.chat.completions.with_streaming_response.create``."""

PLACEHOLDER_KEY = "none"
"""Sent when no key is set: the client insists on one, servers such as Ollama do not look at it."""


class Transient(LlmUnavailable):
    """A failure that may pass, so that it is worth a retry."""


class TimedOut(Transient, LlmTooSlow):
    """One call took longer than it may."""


class ModelNotFound(LlmUnavailable):
    """The model that was asked for does not exist here."""


class OpenAiServer:
    """One server and account. An instance serves any number of threads with one client for each key.

    ``noun`` is what messages call the server, ``answer`` what it is asked for. ``api_key`` is asked before each call,
    so it should keep what it reads. ``wall_clock`` (Unix seconds) is what retry-after dates are compared with.
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
        """The client with the key of this moment, built on first use.

        Raises:
            LlmDenied: the key or the base URL cannot be used.
        """
        with self._lock:
            key = self._current_key()
            client = self._built()
            client.api_key = key  # requests read it when they are made
            return client

    def warm(self) -> None:
        """Build the client: it reads the machine's certificates. No key is read, and nobody is called.

        Raises:
            LlmUnavailable: the base URL cannot be used.
        """
        with self._lock:
            self._built()

    def reset(self) -> None:
        """Close all connections and forget the key; the client stays. Not while calls are under way."""
        with self._lock:
            if self._client is not None:
                self._client.api_key = PLACEHOLDER_KEY
                from rag.adapters.llm.connections import close_connections

                close_connections(self._client)

    def call(self, request: Request, *, limit_s: float) -> bytes:
        """The body of the response to ``request``, which is made once and awaited for at most ``limit_s`` in all.

        Raises:
            Transient: a retry may help; ``retry_after`` is what the server asked for.
            ModelNotFound: the model does not exist here.
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
        """As ``call``, but ``take`` gets the body's parts as they come, and ``b""`` while none does.

        ``left_s`` replaces ``limit_s`` as in ``stream_within``; the connection may then be silent for ``pause_s``.
        What ``take`` raises ends the call at once, and is raised as it is.

        Raises:
            Transient, ModelNotFound, LlmDenied, LlmFailed: as ``call``.
        """
        client = self.client()
        responses: list[APIResponse[Any]] = []
        with self._in_our_words(client.api_key):
            try:
                silence_s = max(limit_s, pause_s)
                stream_within(
                    limit_s, lambda put: self._read(client, request, silence_s, put, responses), take, left_s=left_s
                )
            except BaseException:
                from rag.adapters.llm.connections import hang_up

                for response in responses:
                    hang_up(response)
                raise

    @contextmanager
    def _in_our_words(self, key: str) -> Iterator[None]:
        """Errors of the vendor's client as ours, without what the server said."""
        import httpx2
        import openai

        from rag.adapters.llm.redact import redact, redact_keeping_identifiers

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
            # openai wraps what fails before the response's headers, and lets through what fails in its body.
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
        """Put the body piece by piece, each awaited for ``silence_s`` at most, until ``put`` wants no more."""
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
        match judge(exc.status_code, exc.body, told_to_wait=retry_after is not None):
            case Verdict.RETRY:
                return Transient(message, retry_after=retry_after)
            case Verdict.NEXT_MODEL:
                return ModelNotFound(message)
            case Verdict.UNAVAILABLE:
                return LlmDenied(message, retry_after=retry_after)
            case Verdict.FAILED if names_context_window(exc.body):
                return ContextTooLong(f"{message}: the prompt exceeds its context window")
            case Verdict.FAILED if parameter := refused_parameter(exc.body):
                return ParameterRefused(f"{message}: it does not take {parameter} as it was sent", parameter)
            case Verdict.FAILED:
                return RequestRefused(message)

    def _current_key(self) -> str:
        key = self._read_key().strip()  # a secret read from a file often ends in a newline
        # h11 prints a header that it refuses, so a key that it would refuse must not get that far.
        if not (key.isascii() and key.isprintable()):
            raise LlmDenied(f"The {self._noun}'s API key holds characters that an HTTP header cannot carry")
        return key or PLACEHOLDER_KEY

    def _built(self) -> OpenAI:
        if self._client is None:
            self._client = self._build_client()
        return self._client

    def _build_client(self) -> OpenAI:
        import httpx2
        import openai

        from rag.adapters.llm.connections import make_connections

        connections = make_connections()
        try:
            client = openai.OpenAI(
                api_key=PLACEHOLDER_KEY,
                base_url=self._base_url,
                http_client=connections,
                # Empty, not None: the client fills what is None from OPENAI_* variables.
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
        weakref.finalize(client, connections.close).atexit = False  # as the client does with one of its own
        return client
