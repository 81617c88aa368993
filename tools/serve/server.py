"""The local HTTP server: waitress, each thread of which answers one request with the Lambda handler."""

from __future__ import annotations

import json
import logging
import signal
import socket
import time
from collections.abc import Callable
from http import HTTPStatus

from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask

from rag.http.failures import error_body_at
from serve.wsgi import DISCARD_BYTES, MAX_BODY_BYTES, Gateway

THREADS = 32
"""Requests that are answered at the same time; most of them wait for an LLM."""
IDLE_S = 30
"""A connection is closed after so many idle seconds. (Browsers open some that they never use.)"""
REQUEST_S = 30
"""A request must arrive within this time."""
CONNECTIONS = 1000
HEAD_BYTES = 64 * 1024

REFUSALS = {
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: ("The address and the headers are too long", "headers_too_large"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (f"Request body exceeds {MAX_BODY_BYTES // 1024**2} MB", "body_too_large"),
}
NOT_HTTP = ("The request is not HTTP as this server reads it", "bad_request")


class JsonError(ErrorTask):  # type: ignore[misc]  # waitress is not typed
    """The JSON refusal of a request that could not be read, in place of waitress's plain text."""

    def execute(self) -> None:
        """Send the refusal, and close."""
        error = self.request.error
        sentence, code = REFUSALS.get(error.code, NOT_HTTP)
        self.status = f"{error.code} {error.reason}"
        path = str(getattr(self.request, "path", "") or "/")  # set if the head was read
        body = json.dumps(error_body_at(path, sentence, code, error.code)).encode()
        self.response_headers.append(("Content-Type", "application/json"))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with JSON refusals and a limit on the time that a request takes to arrive."""

    error_task_class = JsonError
    _request_began = 0.0

    def received(self, data: bytes) -> bool:
        """Read received data; close the connection if a request is incomplete after ``REQUEST_S``."""
        if self.request is None:
            self._request_began = time.monotonic()
        consumed = bool(super().received(data))
        if self.request is not None and time.monotonic() - self._request_began > REQUEST_S:
            self.will_close = True
        return consumed


class Server(TcpWSGIServer):  # type: ignore[misc]
    """A server of ``application`` on ``listener``, a socket that listens already."""

    channel_class = Channel

    def __init__(self, application: Gateway, listener: socket.socket) -> None:
        listener.setblocking(False)
        super().__init__(
            application,
            _sock=listener,
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            channel_timeout=IDLE_S,
            channel_request_lookahead=1,  # so that a client who leaves is noticed while an answer is written
            max_request_header_size=HEAD_BYTES,
            max_request_body_size=MAX_BODY_BYTES + DISCARD_BYTES,
            expose_tracebacks=False,
            asyncore_use_poll=True,
            ident="",
        )


def serve_forever(application: Gateway, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, SIGTERM or a closed terminal; running answers have 5 s to end.

    ``ready`` is called before the first request.
    """
    logging.getLogger("waitress").setLevel(logging.CRITICAL)  # a full queue, or a client who left, is no news
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    server = Server(application, listener)
    ready()
    server.run()


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
