"""Streaming: how long after the model's first text its first text is here, with a model double that drips."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from bench.tables import percentile, table

FIRST_S, PAUSE_S = 0.3, 0.02
"""What the double takes to its first text, and from each piece to the next."""
PIECES = [f"answer {number} " for number in range(16)]


class _Dripping(ThreadingHTTPServer):
    """A model that streams ``PIECES``; ``first`` has when each answer's first piece left, on this process's clock."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Drip)
        self.first: list[float] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Drip(BaseHTTPRequestHandler):
    server: _Dripping

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        time.sleep(FIRST_S)
        self.server.first.append(time.perf_counter())
        for piece in PIECES:
            self._event({"content": piece})
            time.sleep(PAUSE_S)
        self._event({}, finish="stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, delta: dict[str, str], *, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "double", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


def streaming(index: Path, questions: Sequence[str]) -> str:
    """Return the table: ``questions`` to the local server on ``index``, each as server-sent events and as JSON."""
    model = _Dripping()
    late, shown, whole = [], [], []
    with _served(index, f"http://127.0.0.1:{model.server_port}/v1") as address:
        _first_delta(address, questions[0])
        for question in questions:
            model.first.clear()
            asked = time.perf_counter()
            here, done = _first_delta(address, question)
            if here is None or not model.first:
                continue  # declined: no model was asked
            late.append(1000 * (here - model.first[0]))
            shown.append(1000 * (here - asked))
            whole.append(1000 * (done - asked))
    model.shutdown()
    rows = {
        "from the model's first text to its first text here": late,
        f"from the question to the first text (the model takes {FIRST_S * 1000:.0f} ms)": shown,
        f"from the question to the checked answer ({len(PIECES)} pieces, {PAUSE_S * 1000:.0f} ms each)": whole,
    }
    head = (f"{len(late)} streamed answers", "p50 ms", "p99 ms")
    return table(head, [(name, percentile(times, 0.5), percentile(times, 0.99)) for name, times in rows.items()])


@contextmanager
def _served(index: Path, model: str) -> Iterator[str]:
    """Run ``ragctl serve`` with ``model`` as its LLM, and yield host:port."""
    program = [str(Path(sys.executable).with_name("ragctl")), "serve", "--port", "0", "--json", "--index", str(index)]
    environment = {**os.environ, "LLM_BASE_URL": model, "LLM_MODEL": "double"}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as server:
        out = cast(IO[bytes], server.stdout)
        try:
            ready = json.loads(out.readline())
            threading.Thread(target=out.read, daemon=True).start()  # a full pipe would stop the server
            yield urlsplit(ready["url"]).netloc
        finally:
            server.terminate()


def _first_delta(address: str, question: str) -> tuple[float | None, float]:
    """Return when the first delta was here (None without one), and when all of it was."""
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    connection.request("POST", "/api/query", json.dumps({"query": question}), headers)
    first = None
    for line in connection.getresponse():
        if first is None and line.startswith(b"event: delta"):
            first = time.perf_counter()
    connection.close()
    return first, time.perf_counter()
