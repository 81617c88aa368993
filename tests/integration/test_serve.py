"""The local server as a user starts it: a process on a free port."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fakes_llm import Exchange, LlmServer, reply

from knowledge.documents import read
from knowledge.embedding import MiniLM
from knowledge.ingest import ingest

PROGRAM = Path(sys.executable).with_name("ragctl")
OURS = ("LLM_", "RAG_", "RAGCTL_", "INDEX_", "CHROMA_", "RETRIEVAL_", "RELEVANCE_", "MAX_")
QUESTION = "Do I need a permit for importing plants?"
STOP_S = 20


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    text = "# Import Permits\n\n## Plants\n\nImporting plants needs a permit from the plant health office.\n"
    (root / "permits.md").write_text(text)
    ingest(read([root / "permits.md"]).documents, target=root / "index", embedder=MiniLM())
    return root / "index"


@dataclass
class Server:
    process: subprocess.Popen[str]
    address: str

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        """(status, decoded JSON)."""
        connection = http.client.HTTPConnection(self.address, timeout=STOP_S)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or "null")
        finally:
            connection.close()

    def ask(self, question: str = QUESTION) -> tuple[int, Any]:
        return self.request("POST", "/api/query", json.dumps({"query": question}).encode())

    def end(self, number: int) -> tuple[int, str, str]:
        """Send the signal to the whole group, as a terminal does: (exit status, stdout, stderr)."""
        os.killpg(self.process.pid, number)
        out, err = self.process.communicate(timeout=STOP_S)
        return self.process.returncode, out, err


def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return subprocess.Popen(
        [str(PROGRAM), "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, **variables},
        start_new_session=True,
    )


@contextmanager
def serving(index: Path, *arguments: str, **variables: str) -> Iterator[Server]:
    process = start("--port", "0", "--json", "--index", str(index), *arguments, **variables)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready, process.communicate(timeout=STOP_S)[1]
        yield Server(process, urlsplit(json.loads(ready)["url"]).netloc)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise


def test_it_answers_over_http_and_ctrl_c_ends_it_cleanly(index: Path) -> None:
    with serving(index) as server:
        status, body = server.ask()
        health_status, health = server.request("GET", "/api/health")
        wrong_method = server.request("OPTIONS", "/api/query")
        not_json = server.request("POST", "/api/query", b"\xff\xfe")
        head = server.request("HEAD", "/api/health")
        missing = server.request("GET", "/nowhere")
        ended, out, err = server.end(signal.SIGINT)

    assert (status, body["citations"][0]["title"]) == (200, "Import Permits")
    assert (health_status, health["index"]["chunks"]) == (200, 1)
    assert (wrong_method[0], wrong_method[1]["code"]) == (405, "method_not_allowed")
    assert (not_json[0], not_json[1]["code"]) == (400, "invalid_json")
    assert head == (405, None)
    assert missing[0] == 404
    assert ended == 0
    assert "Traceback" not in out + err
    assert "POST /api/query 200 " in err
    assert err.endswith("Stopped.\n")


def test_health_answers_while_another_worker_waits_for_the_llm(index: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    def wait(exchange: Exchange) -> None:
        asked.set()
        released.wait(STOP_S)
        reply("Yes. [Import Permits > Plants]")(exchange)

    with LlmServer([wait]) as llm, serving(index, "--workers", "2", LLM_BASE_URL=llm.url) as server:
        answers: list[tuple[int, Any]] = []
        waiting = threading.Thread(target=lambda: answers.append(server.ask()))
        waiting.start()
        try:
            assert asked.wait(STOP_S)
            health = [server.request("GET", "/api/health")[0] for _ in range(3)]
            answered_meanwhile = list(answers)
        finally:
            released.set()
            waiting.join(STOP_S)

    assert health == [200, 200, 200]
    assert answered_meanwhile == []
    assert answers[0][1]["answer"] == "Yes. [Import Permits > Plants]"


def test_ctrl_c_does_not_wait_for_the_llm(index: Path, tmp_path: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    def wait(exchange: Exchange) -> None:
        asked.set()
        released.wait(STOP_S)
        exchange.hang_up()

    def ask(server: Server) -> None:
        with pytest.raises((OSError, http.client.HTTPException, ValueError)):
            server.ask()

    with LlmServer([wait]) as llm, serving(index, LLM_BASE_URL=llm.url, TMPDIR=str(tmp_path)) as server:
        waiting = threading.Thread(target=ask, args=(server,))
        waiting.start()
        try:
            assert asked.wait(STOP_S)
            ended, out, err = server.end(signal.SIGINT)
        finally:
            released.set()
            waiting.join(STOP_S)

    assert ended == 0
    assert "Traceback" not in out + err
    assert list(tmp_path.glob("index-*")) == []  # the workers ended by themselves, and tidied up


def test_sigterm_ends_it_too(index: Path) -> None:
    with serving(index, "--workers", "1") as server:
        ended, out, err = server.end(signal.SIGTERM)

    assert (ended, out) == (0, "")
    assert err.endswith("Stopped.\n")


def test_a_body_over_api_gateways_limit_is_413(index: Path) -> None:
    with serving(index, "--workers", "1") as server:
        status, body = server.request("POST", "/api/query", b"x" * (10 * 1024 * 1024 + 1))
        still_there = server.request("GET", "/api/health")[0]

    assert (status, body["code"]) == (413, "body_too_large")
    assert still_there == 200


def test_without_an_index_it_serves_503_until_there_is_one(index: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "later", "--workers", "1") as server:
        before = server.ask()
        (tmp_path / "docs.md").write_text("# Import Permits\n\nImporting plants needs a permit.\n")
        ingest(read([tmp_path / "docs.md"]).documents, target=tmp_path / "later", embedder=MiniLM())
        after = server.ask()

    assert (before[0], before[1]["code"]) == (503, "index_not_ready")
    assert before[1]["error"] == "No index is loaded. Run: ragctl ingest PATH"
    assert after[0] == 200


def test_a_busy_port_is_a_sentence(index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start("--port", str(port), "--index", str(index))
        out, err = process.communicate(timeout=STOP_S)
        with_json = start("--port", str(port), "--index", str(index), "--json").communicate(timeout=STOP_S)[0]

    assert (process.returncode, out) == (1, "")
    assert err == f"Error: Port {port} on 127.0.0.1 is in use. Choose another: PORT={port + 1} make run\n"
    assert json.loads(with_json)["code"] == "port_in_use"


def test_a_function_that_cannot_start_ends_the_server_with_a_sentence(index: Path) -> None:
    process = start("--port", "0", "--index", str(index), MAX_CONTEXT_TOKENS="plenty")
    out, err = process.communicate(timeout=STOP_S)

    assert (process.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("Error: Wrong setting. MAX_CONTEXT_TOKENS: ")
