"""Streaming latency through the local server, with a fake model that streams slowly."""

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
"""Delays of the fake model before its first piece and between pieces."""
PIECES = [f"answer {number} " for number in range(16)]


class SlowModel(ThreadingHTTPServer):
    """A model that streams ``PIECES``; ``first_sent`` has the time of each answer's first piece, on this clock."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), SlowModelHandler)
        self.first_sent: list[float] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class SlowModelHandler(BaseHTTPRequestHandler):
    """The handler of its requests."""

    server: SlowModel

    def do_POST(self) -> None:
        """Stream ``PIECES``, whatever is asked."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        time.sleep(FIRST_S)
        self.server.first_sent.append(time.perf_counter())
        for piece in PIECES:
            self._send_event({"content": piece})
            time.sleep(PAUSE_S)
        self._send_event({}, finish="stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _send_event(self, delta: dict[str, str], *, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def measure_streaming(index: Path, questions: Sequence[str]) -> str:
    """Return the table of delays for ``questions`` to the local server on ``index``; declined ones are left out."""
    model = SlowModel()
    delays, first_texts, answers = [], [], []
    with _serve(index, f"http://127.0.0.1:{model.server_port}/v1") as address:
        _time_answer(address, questions[0])  # warm up
        for question in questions:
            model.first_sent.clear()
            start = time.perf_counter()
            first, end = _time_answer(address, question)
            if first is None or not model.first_sent:
                continue  # declined without the model
            delays.append(1000 * (first - model.first_sent[0]))
            first_texts.append(1000 * (first - start))
            answers.append(1000 * (end - start))
    model.shutdown()
    rows = {
        "from the model's first text to its first text here": delays,
        f"from the question to the first text (the model takes {FIRST_S * 1000:.0f} ms)": first_texts,
        f"from the question to the checked answer ({len(PIECES)} pieces, {PAUSE_S * 1000:.0f} ms each)": answers,
    }
    head = (f"{len(delays)} streamed answers", "p50 ms", "p99 ms")
    return table(head, [(name, percentile(times, 0.5), percentile(times, 0.99)) for name, times in rows.items()])


@contextmanager
def _serve(index: Path, model: str) -> Iterator[str]:
    """Run ``ragctl serve`` with ``model`` as its LLM, and yield host:port."""
    program = [str(Path(sys.executable).with_name("ragctl")), "serve", "--port", "0", "--json", "--index", str(index)]
    environment = {**os.environ, "LLM_BASE_URL": model, "LLM_MODEL": "slow"}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as server:
        out = cast(IO[bytes], server.stdout)
        try:
            ready = json.loads(out.readline())
            threading.Thread(target=out.read, daemon=True).start()  # a full pipe would stop the server
            yield urlsplit(ready["url"]).netloc
        finally:
            server.terminate()


def _time_answer(address: str, question: str) -> tuple[float | None, float]:
    """Return the times of the first delta (None if there is none) and of the answer's end."""
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    connection.request("POST", "/api/query", json.dumps({"query": question}), headers)
    first = None
    for line in connection.getresponse():
        if first is None and line.startswith(b"event: delta"):
            first = time.perf_counter()
    connection.close()
    return first, time.perf_counter()
