"""A proxy before a server of this machine that does what networks do: wait, freeze, trickle, cut, refuse."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from listening import Quiet, listening

type Fault = Callable[[Exchange], None]

TRICKLE_S = 0.05


class Exchange(Quiet):
    """One request; a fault answers it, or lets it through by ``forward``."""

    server: FaultyProxy

    def handle_one(self) -> None:
        """Read the request, and do with it what the proxy does now."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.counted(self):
            try:
                self.server.fault(self)
            except OSError:  # the other side has gone
                self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - the names that http.server calls

    def forward(self) -> tuple[int, bytes]:
        """What the server answers."""
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        try:
            upstream.request(self.command, self.path, self.body, {"Content-Type": "application/json"})
            response = upstream.getresponse()
            return response.status, response.read()
        finally:
            upstream.close()

    def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        """Send all of it."""
        self.begin(status, len(body), kind)
        self.wfile.write(body)

    def begin(self, status: int, length: int, kind: str = "application/json") -> None:
        """Send the head."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()


class FaultyProxy(ThreadingHTTPServer):
    """Stands before the server at the port ``target``; ``fault`` may be changed at any time."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.target = target
        self.fault: Fault = passing
        self.over = threading.Event()
        """Whoever is kept waiting waits for this."""
        self.now = self.most = 0
        """Requests that it has at once, and had at most."""
        self.asked: list[dict[str, str]] = []
        """The headers of all requests, their names in lower case."""
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.server_port

    @contextmanager
    def counted(self, exchange: Exchange) -> Iterator[None]:
        """Count ``exchange`` while it lasts."""
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.asked.append({name.lower(): value for name, value in exchange.headers.items()})
        try:
            yield
        finally:
            with self._lock:
                self.now -= 1

    def handle_error(self, *_: object) -> None:
        """A connection that was cut: say nothing."""


@contextmanager
def proxied(target: int, tls: ssl.SSLContext | None = None) -> Iterator[FaultyProxy]:
    """One that runs as long as the block."""
    proxy = FaultyProxy(target)
    if tls is not None:
        proxy.socket = tls.wrap_socket(proxy.socket, server_side=True)
    with listening(proxy):
        try:
            yield proxy
        finally:
            proxy.over.set()


def passing(exchange: Exchange) -> None:
    """No fault."""
    exchange.answer(*exchange.forward())


def slow(seconds: float) -> Fault:
    """Answers after ``seconds``."""

    def fault(exchange: Exchange) -> None:
        exchange.server.over.wait(seconds)
        passing(exchange)

    return fault


def frozen(exchange: Exchange) -> None:
    """Accepts and never answers."""
    exchange.server.over.wait()
    exchange.close_connection = True


def trickling(exchange: Exchange) -> None:
    """Sends a byte at a time, without an end."""
    exchange.begin(200, 1_000_000)
    while not exchange.server.over.wait(TRICKLE_S):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()


def cut(exchange: Exchange) -> None:
    """Ends in the middle of an answer."""
    status, body = exchange.forward()
    exchange.begin(status, len(body))
    exchange.wfile.write(body[: len(body) // 2])
    exchange.close_connection = True


def page(status: int, text: str = "<html><h1>Error 401 of 403</h1></html>") -> Fault:
    """Answers with a web page, as proxies do."""
    return lambda exchange: exchange.answer(status, text.encode(), "text/html")


def once(fault: Fault) -> Fault:
    """Only the next request meets ``fault``."""
    left = [fault]
    return lambda exchange: (left.pop() if left else passing)(exchange)
