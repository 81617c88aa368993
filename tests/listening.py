"""Servers of this machine that run while a test needs them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Keeps connections, and writes no line a request: a test's output is its own.

    Handlers name its base too, for which the linter lets them have methods such as ``do_GET``.
    """

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...


@contextmanager
def listening(server: HTTPServer) -> Iterator[str]:
    """Let ``server`` answer in a thread as long as the block runs; its address."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
