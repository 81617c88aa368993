"""The local server as a user starts it: a process on a free port."""

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import real_model
from command_line import Run
from fakes_llm import Exchange, LlmServer, Step, drip, reply
from local_server import STOP_S, Server, serving, start

from knowledge.build.ingest import ingest
from knowledge.read.documents import read

pytestmark = pytest.mark.slow

QUESTION = "Do I need a permit for importing plants?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    text = "# Import Permits\n\n## Plants\n\nImporting plants needs a permit from the plant health office.\n"
    (root / "permits.md").write_text(text)
    ingest(read([root / "permits.md"]).documents, target=root / "index", embedder=real_model.model())
    return root / "index"


@pytest.fixture(scope="module")
def running(index: Path) -> Iterator[Server]:
    with serving(index) as server:
        yield server


def test_it_answers_over_http_remembers_beside_the_index_and_ctrl_c_ends_it_cleanly(index: Path) -> None:
    with serving(index, STORE_PATH="") as server:
        status, body = server.ask(QUESTION)
        again = json.dumps({"query": "Say that again", "sessionId": body["sessionId"]}).encode()
        followed = server.request("POST", "/api/query", again)[1]
        health_status, health = server.request("GET", "/api/health")
        wrong_method = server.request("OPTIONS", "/api/query")
        not_json = server.request("POST", "/api/query", b"\xff\xfe")
        head = server.request("HEAD", "/api/health")
        missing = server.request("GET", "/nowhere")
        ended, out, err = server.end(signal.SIGINT)

    assert (status, body["citations"][0]["title"]) == (200, "Import Permits")
    assert followed["metadata"]["trail"][0] == f"looked up again: {QUESTION}"
    assert followed["references"] != []
    assert (health_status, health["index"]["chunks"], health["store"]) == (200, 1, "sqlite")
    assert (wrong_method[0], wrong_method[1]["code"]) == (405, "method_not_allowed")
    assert (not_json[0], not_json[1]["code"]) == (400, "invalid_json")
    assert (head, missing[0], ended) == ((405, None), 404, 0)
    assert "Traceback" not in out + err
    assert "POST /api/query 200 " in err
    assert err.endswith("Stopped.\n")
    beside = index.with_name("index.store.sqlite")
    assert f"Turns and votes are kept in {beside}\n" in err
    assert beside.stat().st_mode & 0o777 == 0o600


def test_health_answers_while_a_question_waits_for_the_llm_and_ctrl_c_does_not_wait(
    index: Path, tmp_path: Path
) -> None:
    said = "Importing plants needs a permit. [Import Permits > Plants]"
    asked, released = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def wait(number: int) -> Step:
        def step(exchange: Exchange) -> None:
            asked[number].set()
            released[number].wait(STOP_S)
            reply(said)(exchange)

        return step

    with (
        LlmServer([wait(0), wait(1)]) as llm,
        serving(index, LLM_BASE_URL=llm.url, TMPDIR=str(tmp_path)) as server,
        ThreadPoolExecutor(2) as pool,
    ):
        try:
            answered = pool.submit(server.ask, QUESTION)
            assert asked[0].wait(STOP_S)
            health = [server.request("GET", "/api/health")[0] for _ in range(3)]
            assert (health, answered.done()) == ([200, 200, 200], False)
            released[0].set()
            assert answered.result(STOP_S)[1]["answer"] == said

            stopped = pool.submit(server.ask, QUESTION)
            assert asked[1].wait(STOP_S)
            ended, out, err = server.end(signal.SIGINT)
        finally:
            for event in released:
                event.set()
        with pytest.raises((OSError, http.client.HTTPException, ValueError)):
            stopped.result(STOP_S)

    assert ended == 0
    assert "Traceback" not in out + err
    assert list(tmp_path.glob("index-*")) == []  # it tidied up


@pytest.mark.parametrize(
    ("limit", "reason"), [({"STREAM_IDLE_S": "0.5"}, "interrupted"), ({"STREAM_DEADLINE_S": "0.001"}, "length")]
)
def test_a_stream_that_is_not_done_in_time_is_answered_with_what_there_is(
    index: Path, limit: dict[str, str], reason: str
) -> None:
    said = "Importing plants needs a permit. [Import Permits > Plants]"
    with LlmServer([drip(said, threading.Event())]) as llm, serving(index, LLM_BASE_URL=llm.url, **limit) as server:
        connection = http.client.HTTPConnection(server.address, timeout=STOP_S)
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        connection.request("POST", "/api/query", json.dumps({"query": QUESTION}), headers)
        *_, last = connection.getresponse().read().decode().strip().split("\n\n")
        connection.close()
        health = server.request("GET", "/api/health")[1]

    name, data = last.split("\n")
    body = json.loads(data.removeprefix("data: "))
    assert (name, body["answer"].partition(".")[0]) == ("event: answer", "Importing plants needs a permit")
    assert health["llm"]["lastError"] == f"The LLM's answer is not whole ({reason}): LLM call timed out"


@pytest.mark.parametrize(
    ("request_head", "status", "code"),
    [
        (f"GET /api/health HTTP/1.1\r\nHost: {'x' * 70_000}", 431, "headers_too_large"),
        ("GET /api/health HTTP/1.1\r\nHost", 400, "bad_request"),
        ("POST /api/query HTTP/1.1\r\nContent-Length: 99999999", 413, "body_too_large"),
    ],
)
def test_what_cannot_be_read_is_refused_in_json(running: Server, request_head: str, status: int, code: str) -> None:
    host, _, port = running.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=STOP_S) as client:
        client.sendall(f"{request_head}\r\n\r\n".encode())
        response = http.client.HTTPResponse(client)
        response.begin()
        body = json.loads(response.read())

    assert (response.status, response.headers["Content-Type"]) == (status, "application/json")
    assert (body["code"], body.keys()) == (code, {"error", "code"})
    assert running.request("GET", "/api/health")[0] == 200


def finished(server: Server, job: str) -> Any:
    for _ in range(6000):
        state = server.request("GET", f"/v1/ingest/{job}")[1]
        if state["state"] != "running":
            return state
        time.sleep(0.1)
    raise AssertionError("the ingest never ended")


def test_without_an_index_it_ingests_what_it_was_started_with_and_answers_and_sigterm_ends_it_too(
    tmp_path: Path,
) -> None:
    (tmp_path / "docs.md").write_text("# Import Permits\n\nImporting plants needs a permit.\n")
    with serving(tmp_path / "index", "--source", str(tmp_path / "docs.md")) as server:
        before, told = server.ask(QUESTION)
        begun, job = server.request("POST", "/v1/ingest")
        state = finished(server, job["id"])
        after = server.ask(QUESTION)[0]
        wrong_method = server.request("DELETE", "/v1/ingest")
        ended, _, err = server.end(signal.SIGTERM)

    assert (before, begun, job["state"], after) == (503, 202, "running", 200)
    assert told == {"error": "No index is loaded. Run: ragctl ingest PATH", "code": "index_not_ready"}
    assert (state["state"], state["summary"]["documents"]) == ("done", 1)
    assert str(tmp_path) not in json.dumps(state)
    assert (wrong_method[0], wrong_method[1]["code"]) == (405, "method_not_allowed")
    assert (ended, err.endswith("Stopped.\n")) == (0, True)


SLOW = 20
HEAD = b"POST /api/query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


@contextmanager
def slow_clients(server: Server, begin: bytes, then: bytes, buffer: int) -> Iterator[None]:
    """Clients on connections of their own, who begin with one and go on with the other while the block lasts."""
    host, _, port = server.address.rpartition(":")
    over = threading.Event()
    with ExitStack() as opened:
        clients = []
        for _ in range(SLOW):
            client = opened.enter_context(socket.socket())
            if buffer:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            client.connect((host, int(port)))
            client.sendall(begin)
            clients.append(client)

        def drip() -> None:
            while not over.wait(0.2):
                for client in clients:
                    with suppress(OSError):
                        client.sendall(then)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("begin", "then", "buffer"),
    [
        (HEAD, b"X", 0),
        (HEAD + b"Content-Length: 1000\r\n\r\n", b" ", 0),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0),
        (b"", b"", 0),
        (b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", 2048),
    ],
    ids=["headers", "body", "chunks", "nothing", "the answer"],
)
def test_clients_who_ask_or_read_slowly_stop_nobody_else(
    running: Server, begin: bytes, then: bytes, buffer: int
) -> None:
    with slow_clients(running, begin, then, buffer):
        assert running.request("GET", "/api/health")[0] == 200
        status, body = running.ask(QUESTION)
        assert (status, body["citations"][0]["title"]) == (200, "Import Permits")


def test_many_who_ask_at_once_get_each_their_own_answer(running: Server) -> None:
    questions = [QUESTION, "Which office gives a permit?", "What is the weather?", ""] * 10
    alone = {question: running.ask(question)[1].get("answer") for question in set(questions)}
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda question: running.ask(question)[1].get("answer"), questions))
    assert answers == [alone[question] for question in questions]
    assert len(set(answers)) >= 3


def test_a_request_that_comes_in_pieces_is_served_whole(running: Server) -> None:
    host, _, port = running.address.rpartition(":")
    text = json.dumps({"query": QUESTION}).encode()
    with socket.create_connection((host, int(port)), timeout=STOP_S) as client:
        client.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(text))
        assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n", "before it sends more"
        for piece in (text[:5], text[5:20], text[20:]):
            time.sleep(0.1)
            client.sendall(piece)
        with client.makefile("rb") as answer:
            assert b'"Import Permits"' in answer.read()


def test_a_busy_port_is_a_sentence(run: Run, index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = run("serve", "--port", port, "--index", index)
        _, out, _ = run("serve", "--port", port, "--index", index, "--json")
    sentence = f"Port {port} on 127.0.0.1 is in use. Choose another: PORT={port + 1} make run"
    assert told == (1, "", f"Error: {sentence}\n")
    assert json.loads(out) == {"error": sentence, "code": "port_in_use"}


def test_a_function_that_cannot_start_ends_the_server_with_a_sentence(index: Path) -> None:
    process = start("--port", "0", "--index", str(index), MAX_CONTEXT_TOKENS="plenty")
    out, err = process.communicate(timeout=STOP_S)
    assert (process.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("Error: Wrong setting. MAX_CONTEXT_TOKENS: ")
