"""Lambda's Runtime API on a raw socket: hands out events and keeps every byte of what comes back.

with RuntimeApiDouble([event, ...]) as double:
    ... run a runtime against double.address; then look at double.requests
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Self

TIMEOUT_S = 60.0


@dataclass
class Recorded:
    """One request. ``chunks`` are a chunked body's, ``trailers`` what followed them; they grow while it comes.

    ``wire`` is every byte of it, as it came.
    """

    line: str
    headers: dict[str, str]
    body: bytes = b""
    chunks: list[bytes] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)
    wire: bytearray = field(default_factory=bytearray)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def wait_for_chunks(self, count: int) -> None:
        """Wait until so many chunks are there."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.chunks) >= count, TIMEOUT_S)


class _Tee:
    """Reads from a connection and keeps what was read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.kept = bytearray()

    def readline(self) -> bytes:
        line = self._stream.readline()
        self.kept += line
        return line

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.kept += data
        return data


class RuntimeApiDouble:
    """Answers ``invocation/next`` with each of ``events`` in turn, and then never; everything else with 202."""

    def __init__(self, events: Iterable[Any], *, headers: Mapping[str, str] | None = None) -> None:
        self._events = list(events)
        self._headers = dict(headers or {})
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._changed = threading.Condition()
        self.requests: list[Recorded] = []
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def request(self, ending: str) -> Recorded:
        """The first request whose path ends so; waits for it."""

        def found() -> Recorded | None:
            return next((one for one in self.requests if one.line.split()[1].endswith(ending)), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, TIMEOUT_S), self.requests
        recorded = found()
        assert recorded is not None
        return recorded

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rb") as stream:
                while (line := (tee := _Tee(stream)).readline()) and self._one(line.decode().strip(), tee, connection):
                    pass

    def _one(self, line: str, stream: _Tee, connection: socket.socket) -> bool:
        recorded = Recorded(line, _fields(stream), wire=stream.kept)
        with self._changed:
            self.requests.append(recorded)
            self._changed.notify_all()
        if recorded.headers.get("transfer-encoding") == "chunked":
            self._read_chunks(recorded, stream)
        else:
            recorded.body = stream.read(int(recorded.headers.get("content-length", 0)))
        if line.split()[1].endswith("/invocation/next"):
            if not self._events:
                connection.shutdown(socket.SHUT_RDWR)
                return False
            number = sum(one.line.split()[1].endswith("/invocation/next") for one in self.requests)
            deadline = str(int(1000 * time.time()) + 30_000)
            headers = {
                "Lambda-Runtime-Aws-Request-Id": f"request-{number}",
                "Lambda-Runtime-Deadline-Ms": deadline,
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:000000000000:function:query:live",
                "Lambda-Runtime-Trace-Id": "Root=1-2-3",
                **self._headers,
            }
            _answer(connection, 200, json.dumps(self._events.pop(0)).encode(), headers)
        else:
            _answer(connection, 202, b'{"status":"OK"}', {})
        return True

    def _read_chunks(self, recorded: Recorded, stream: _Tee) -> None:
        while size := int(stream.readline().strip() or b"0", 16):  # nothing at all: the connection broke off
            chunk = stream.read(size)
            assert stream.read(2) == b"\r\n"
            with recorded.arrived:
                recorded.chunks.append(chunk)
                recorded.arrived.notify_all()
        recorded.trailers = _fields(stream)


def _fields(stream: _Tee) -> dict[str, str]:
    """Header lines up to the empty one; names in lower case, repeated ones joined."""
    found: dict[str, str] = {}
    while line := stream.readline().decode().rstrip("\r\n"):
        name, _, value = line.partition(":")
        known = found.get(name.lower())
        found[name.lower()] = f"{known}, {value.strip()}" if known else value.strip()
    return found


def _answer(connection: socket.socket, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"HTTP/1.1 {status} OK\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
