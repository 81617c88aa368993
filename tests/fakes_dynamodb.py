"""A server that speaks DynamoDB's protocol over an empty table, in a manner that can be changed while it runs."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from listening import Quiet, listening

EMPTY: Mapping[str, Mapping[str, Any]] = {
    "Query": {"Items": [], "Count": 0},
    "BatchGetItem": {"Responses": {}, "UnprocessedKeys": {}},
    "BatchWriteItem": {"UnprocessedItems": {}},
}
"""What an empty table says; to everything else ``{}``."""
DRIP_S = 0.2
EXPIRED = "Signature expired"
"""How AWS begins to tell that a clock differs from its own."""

type Manner = Callable[[EmptyTable, BaseHTTPRequestHandler, bytes], None]


@dataclass
class EmptyTable:
    """``calls`` are the operations that were asked for over ``connections``; what waits, waits for ``released``."""

    manner: Manner
    url: str = ""
    calls: list[str] = field(default_factory=list)
    connections: int = 0
    released: threading.Event = field(default_factory=threading.Event)


def prompt(table: EmptyTable, request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Answer at once."""
    _head(request, len(body))
    request.wfile.write(body)


def silent(table: EmptyTable, request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Never answer."""
    table.released.wait(600)


def late(table: EmptyTable, request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Answer once ``released``."""
    table.released.wait(600)
    prompt(table, request, body)


def dripping(table: EmptyTable, request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Send blanks, one by one: no read takes long, and no answer comes."""
    _head(request, 1_000_000)
    while not table.released.wait(DRIP_S):
        request.wfile.write(b" ")
        request.wfile.flush()


def an_hour_ahead(table: EmptyTable, request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Refuse what was signed more than five minutes ago by a clock that is an hour ahead, as AWS does."""
    signed = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%S%z")
    clock = datetime.now(UTC) + timedelta(hours=1)
    if abs(clock - signed) <= timedelta(minutes=5):
        prompt(table, request, body)
        return
    told = {"__type": "com.amazon.coral.service#InvalidSignatureException", "message": f"{EXPIRED}: {signed}"}
    refusal = json.dumps(told).encode()
    _head(request, len(refusal), status=400, at=clock)
    request.wfile.write(refusal)


@contextmanager
def empty_table(manner: Manner, *, tls: ssl.SSLContext | None = None) -> Iterator[EmptyTable]:
    """One that runs for the length of the block; with ``tls`` it is called localhost."""
    table = EmptyTable(manner)

    class Handler(Quiet, BaseHTTPRequestHandler):
        def setup(self) -> None:
            if tls:
                self.request = tls.wrap_socket(self.request, server_side=True)
            table.connections += 1
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            operation = self.headers["X-Amz-Target"].rpartition(".")[2]
            table.calls.append(operation)
            try:
                table.manner(table, self, json.dumps(EMPTY.get(operation, {})).encode())
            except OSError:
                self.close_connection = True  # the client has gone

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # the client has refused the certificate

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with listening(server) as address:
        table.url = f"https://localhost:{server.server_port}" if tls else address
        try:
            yield table
        finally:
            table.released.set()


def _head(request: BaseHTTPRequestHandler, length: int, *, status: int = 200, at: datetime | None = None) -> None:
    request.send_response_only(status)
    request.send_header("Date", format_datetime(at or datetime.now(UTC), usegmt=True))
    request.send_header("Content-Type", "application/x-amz-json-1.0")
    request.send_header("Content-Length", str(length))
    request.end_headers()
