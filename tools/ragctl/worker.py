"""gunicorn's sync worker, which serves one request at a time, with clients who are slow kept out of its way."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.workers.sync import SyncWorker

from ragctl.slow_clients import Client, Lobby

CLIENT_TIMEOUT_S = 10.0
"""A request must arrive within this time, and an answer be taken. (Browsers open connections that they never use.)"""
FIRST_LOOK_S = 0.1
"""A client has a worker to itself for so long: longer than a request needs that is on its way."""

_NOT_HTTP = (HTTPStatus.BAD_REQUEST, "The request is not HTTP as this server reads it", "bad_request")
_TOO_SLOW = (
    HTTPStatus.REQUEST_TIMEOUT,
    f"The request did not arrive within {CLIENT_TIMEOUT_S:.0f} s",
    "request_timeout",
)
_REFUSALS = {
    LimitRequestLine: (HTTPStatus.REQUEST_URI_TOO_LONG, "The address is too long", "uri_too_long"),
    LimitRequestHeaders: (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The headers are too long",
        "headers_too_large",
    ),
}


class Worker(SyncWorker):  # type: ignore[misc]
    """A sync worker that gathers requests beside each other, serves one at a time, and refuses in JSON.

    A client that has just come has the worker for a moment, so that a request goes to one that has nothing else to do;
    one that is slower waits in the lobby, and others are let in.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lobby = Lobby(time.monotonic)

    def accept(self, listener: Any) -> None:
        """Let one client in, and serve whose request has arrived."""
        connection, addr = listener.accept()
        client = Client(connection, addr, limit_s=CLIENT_TIMEOUT_S, clock=time.monotonic)
        if client.gathered(FIRST_LOOK_S):
            self._serve(listener, client)
        else:
            self._lobby.seat(client)
        self._tend(listener)

    def wait(self, timeout: float) -> Any:
        """Wait for clients, those in the lobby too."""
        left_s = self._lobby.left_s()
        self.wait_fds = [*self.sockets, self.PIPE[0], *self._lobby]
        ready = super().wait(timeout if left_s is None else min(timeout, left_s))
        self._tend(self.sockets[0])
        return ready

    def handle_error(self, req: Any, client: Client, addr: Any, exc: BaseException) -> None:
        """Answer a request that could not be read; gunicorn would do so in HTML."""
        if not isinstance(exc, ParseException):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Invalid request: %s", exc)
        _refuse(client, *_REFUSALS.get(type(exc), _NOT_HTTP))

    def _serve(self, listener: Any, client: Client) -> None:
        began = time.monotonic()
        self.handle(listener, client, client.address)
        self._lobby.wait_longer(time.monotonic() - began)

    def _tend(self, listener: Any) -> None:
        while client := self._lobby.next_arrived():
            self._serve(listener, client)
        for late in self._lobby.late():
            if late.began:
                _refuse(late, *_TOO_SLOW)
            late.shutdown(socket.SHUT_WR)


def _refuse(client: Client, status: HTTPStatus, sentence: str, code: str) -> None:
    body = json.dumps({"error": sentence, "code": code})
    head = f"HTTP/1.1 {status:d} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with suppress(OSError):
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode("ascii"))
