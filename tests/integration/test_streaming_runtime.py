"""The streaming runtime against a Runtime API on a raw socket that hands out events and keeps every byte."""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Self

import pytest
from runtime.api import RuntimeApi, RuntimeApiError, StreamedResponse
from runtime.loop import InvocationContext, run

from rag.errors import ClientGone

TIMEOUT_S = 60.0
GATEWAY = {"httpMethod": "POST", "path": "/", "requestContext": {}, "stageVariables": {"streaming": "on"}}
"""An event of API Gateway's, from a stage that reads streams."""
HEAD = {"Content-Type": "text/event-stream"}
PRELUDE = b'{"statusCode": 200, "headers": {"Content-Type": "text/event-stream"}}' + b"\0" * 8


class Recorded:
    """One request as it is read: ``wire`` is every byte of it, ``chunks`` are a chunked body's; they grow meanwhile."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._arrived = threading.Condition()
        self.wire = bytearray()
        self.line = self._readline().decode().strip()
        self.headers = self._fields() if self.line else {}
        self.body = b""
        self.chunks: list[bytes] = []
        self.trailers: dict[str, str] = {}

    @property
    def path(self) -> str:
        return self.line.split()[1]

    def wait_for_chunks(self, count: int) -> None:
        """Wait until so many chunks are there."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.chunks) >= count, TIMEOUT_S)

    def read_body(self) -> None:
        """Read what follows the headers."""
        if self.headers.get("transfer-encoding") != "chunked":
            self.body = self._read(int(self.headers.get("content-length", 0)))
            return
        while size := int(self._readline().strip() or b"0", 16):  # nothing at all: the connection broke off
            chunk = self._read(size)
            assert self._read(2) == b"\r\n"
            with self._arrived:
                self.chunks.append(chunk)
                self._arrived.notify_all()
        self.trailers = self._fields()

    def _readline(self) -> bytes:
        line = self._stream.readline()
        self.wire += line
        return line

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.wire += data
        return data

    def _fields(self) -> dict[str, str]:
        """Header lines up to the empty one; names in lower case, repeated ones joined."""
        found: dict[str, str] = {}
        while line := self._readline().decode().rstrip("\r\n"):
            name, _, value = line.partition(":")
            found[name.lower()] = ", ".join(filter(None, (found.get(name.lower()), value.strip())))
        return found


class RuntimeApiDouble:
    """Answers ``invocation/next`` with each of ``events`` in turn, and then never; everything else with 202.

    ``ended`` is how the loop that it was for ended.
    """

    def __init__(self, events: Iterable[Any], *, headers: Mapping[str, str] | None = None) -> None:
        self._events = list(events)
        self._headers = dict(headers or {})
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._changed = threading.Condition()
        self.requests: list[Recorded] = []
        self.connections = 0
        self.ended: int | RuntimeApiError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def request(self, ending: str) -> Recorded:
        """The first request whose path ends so; waits for it."""

        def found() -> list[Recorded]:
            return [one for one in self.requests if one.path.endswith(ending)]

        with self._changed:
            assert self._changed.wait_for(found, TIMEOUT_S), self.requests
        return found()[0]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rb") as stream:
                while (recorded := Recorded(stream)).line and self._one(recorded, connection):
                    pass

    def _one(self, recorded: Recorded, connection: socket.socket) -> bool:
        with self._changed:
            self.requests.append(recorded)
            self._changed.notify_all()
        recorded.read_body()
        if not recorded.path.endswith("/invocation/next"):
            _answer(connection, 202, b'{"status":"OK"}', {})
            return True
        if not self._events:
            connection.shutdown(socket.SHUT_RDWR)
            return False
        number = sum(one.path.endswith("/invocation/next") for one in self.requests)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": f"request-{number}",
            "Lambda-Runtime-Deadline-Ms": str(int(1000 * time.time()) + 30_000),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:000000000000:function:query:live",
            "Lambda-Runtime-Trace-Id": "Root=1-2-3",
            **self._headers,
        }
        _answer(connection, 200, json.dumps(self._events.pop(0)).encode(), headers)
        return True


def _answer(connection: socket.socket, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"HTTP/1.1 {status} OK\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], str]:
    """Makes a handler importable by name."""

    def install(handler: Callable[..., Any]) -> str:
        module = ModuleType("handled_here")
        module.answer = handler  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "handled_here", module)
        return "handled_here.answer"

    return install


@contextmanager
def running(double: RuntimeApiDouble, handler: str) -> Iterator[None]:
    """The loop in a thread; it ends when the double has no events any more."""
    api = RuntimeApi(double.address)

    def work() -> None:
        try:
            double.ended = run(api, handler)
        except RuntimeApiError as error:
            double.ended = error
        finally:
            api._connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join(TIMEOUT_S)
    assert not thread.is_alive()


def answered(handler: str, *events: Any, headers: Mapping[str, str] | None = None) -> RuntimeApiDouble:
    """A double that has handed out ``events``, and has what came back."""
    with RuntimeApiDouble(events, headers=headers) as double, running(double, handler):
        pass
    return double


def streamed(context: InvocationContext) -> StreamedResponse:
    """Where the response goes, of an event of API Gateway's."""
    assert context.response_stream
    return context.response_stream


def test_each_piece_is_a_chunk_that_leaves_at_once_and_the_wire_is_what_the_runtime_api_describes(
    handled: Callable[..., str],
) -> None:
    go_on = threading.Event()

    def handler(event: Any, context: InvocationContext) -> None:
        stream = streamed(context)
        stream.open(200, HEAD)
        stream.write("é\n\n".encode())
        assert go_on.wait(TIMEOUT_S)  # the double has to have the first piece before the second is written
        stream.write(b"")  # an empty chunk would end the body
        stream.write(b"x" * 4096)

    with RuntimeApiDouble([GATEWAY]) as double, running(double, handled(handler)):
        response = double.request("/response")
        response.wait_for_chunks(2)
        go_on.set()
    head = (
        b"POST /2018-06-01/runtime/invocation/request-1/response HTTP/1.1\r\n"
        b"Host: %b\r\n"
        b"Content-Type: application/vnd.awslambda.http-integration-response\r\n"
        b"Lambda-Runtime-Function-Response-Mode: streaming\r\n"
        b"Transfer-Encoding: chunked\r\n"
        b"Trailer: Lambda-Runtime-Function-Error-Type\r\n"
        b"Trailer: Lambda-Runtime-Function-Error-Body\r\n\r\n"
    ) % double.address.encode()
    body = b"%x\r\n%b\r\n" % (len(PRELUDE), PRELUDE) + b"4\r\n\xc3\xa9\n\n\r\n1000\r\n" + b"x" * 4096 + b"\r\n0\r\n\r\n"
    assert bytes(response.wire) == head + body


def test_a_response_that_is_returned_goes_the_same_way(handled: Callable[..., str]) -> None:
    body = os.urandom(6_000_000)
    returned = {
        "statusCode": 404,
        "headers": {"Content-Type": "application/octet-stream"},
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
    double = answered(handled(lambda event, context: returned), GATEWAY)
    response = double.request("/response")
    prelude, *rest = response.chunks
    assert json.loads(prelude.removesuffix(b"\0" * 8)) == {
        "statusCode": 404,
        "headers": {"Content-Type": "application/octet-stream"},
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
    }
    assert b"".join(rest) == body


@pytest.mark.parametrize(
    "event", [{"query": "?"}, {**GATEWAY, "stageVariables": {"streaming": "off"}}, {**GATEWAY, "stageVariables": None}]
)
def test_who_does_not_read_streams_gets_the_result_as_json(handled: Callable[..., str], event: dict[str, Any]) -> None:
    # As from the managed runtime: a direct invocation, or a stage that is not yet, or no more, deployed with streams.
    def handler(event: Any, context: InvocationContext) -> dict[str, Any]:
        assert context.response_stream is None
        return {"statusCode": 200, "body": "ä"}

    double = answered(handled(handler), event)
    response = double.request("/response")
    assert json.loads(response.body) == {"statusCode": 200, "body": "ä"}
    assert response.headers["content-type"] == "application/json"
    assert "lambda-runtime-function-response-mode" not in response.headers


@pytest.mark.parametrize("header", [{"X-Name": "Zoë"}, {"X-Name": "a\r\nSet-Cookie: b=c"}])
def test_a_header_that_http_cannot_carry_is_an_error_before_anything_is_sent(
    handled: Callable[..., str], header: dict[str, str]
) -> None:
    opening = handled(lambda event, context: context.response_stream.open(200, header))
    double = answered(opening, GATEWAY)
    returned = handled(lambda event, context: {"statusCode": 200, "multiValueHeaders": {"X-Name": [*header.values()]}})
    other = answered(returned, GATEWAY)
    for one in (double, other):
        assert json.loads(one.request("request-1/error").body)["errorType"] == "ValueError"
        assert not [asked for asked in one.requests if asked.path.endswith("/response")]


def test_events_come_one_after_the_other_on_one_connection(handled: Callable[..., str]) -> None:
    seen: list[tuple[int, str, int, str, str]] = []

    def handler(event: Any, context: InvocationContext) -> dict[str, Any]:
        left = context.get_remaining_time_in_millis()
        trace = os.environ["_X_AMZN_TRACE_ID"]
        seen.append((event["n"], context.aws_request_id, left, context.invoked_function_arn.rpartition(":")[2], trace))
        return {"statusCode": 200, "body": ""}

    double = answered(handled(handler), {"n": 1, **GATEWAY}, {"n": 2, **GATEWAY})
    assert [(event, number) for event, number, *_ in seen] == [(1, "request-1"), (2, "request-2")]
    assert all(25_000 < left <= 30_000 for _, _, left, _, _ in seen)
    assert {(alias, trace) for *_, alias, trace in seen} == {("live", "Root=1-2-3")}
    assert double.connections == 1
    assert isinstance(double.ended, RuntimeApiError)


def test_an_error_before_the_response_is_the_invocations(handled: Callable[..., str]) -> None:
    def handler(event: Any, context: InvocationContext) -> None:
        raise ValueError("no such thing")

    double = answered(handled(handler), GATEWAY, GATEWAY)
    failed = double.request("/runtime/invocation/request-1/error")
    told = json.loads(failed.body)
    assert (told["errorType"], told["errorMessage"]) == ("ValueError", "no such thing")
    assert failed.headers["lambda-runtime-function-error-type"] == "ValueError"
    assert double.request("/runtime/invocation/request-2/error")


def test_an_error_within_the_response_is_told_in_trailers(handled: Callable[..., str]) -> None:
    def handler(event: Any, context: InvocationContext) -> None:
        streamed(context).open(200, HEAD)
        streamed(context).write(b"half")
        raise ValueError("broke off")

    double = answered(handled(handler), GATEWAY)
    response = double.request("/response")
    assert response.chunks == [PRELUDE, b"half"]
    assert response.trailers["lambda-runtime-function-error-type"] == "ValueError"
    told = json.loads(base64.b64decode(response.trailers["lambda-runtime-function-error-body"]))
    assert told["errorMessage"] == "broke off"


@pytest.mark.parametrize("name", ["no_such_module.handler", ""], ids=["the handler", "the hooks' registry"])
def test_what_cannot_be_imported_is_an_error_of_the_init(
    handled: Callable[..., str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if not name:  # what the program registered would not run: a snapshot that shares its secrets is worse than none
        monkeypatch.setitem(sys.modules, "snapshot_restore_py", None)
        monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    double = answered(name or handled(lambda event, context: {}), GATEWAY)
    assert double.ended == 1
    assert json.loads(double.request("/runtime/init/error").body)["errorType"] == "ModuleNotFoundError"
    assert len(double.requests) == 1


@pytest.mark.parametrize("broken", ["", "before", "after"])
def test_the_hooks_run_around_the_snapshot(
    handled: Callable[..., str], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    order: list[str] = []
    registry = ModuleType("snapshot_restore_py")

    def hook(name: str, which: str) -> tuple[Callable[[], None], tuple[()], dict[str, Any]]:
        def call() -> None:
            order.append(name)
            if which == broken:
                raise RuntimeError(f"{which} failed")

        return call, (), {}

    before, after = [hook("b1", "never"), hook("b2", "before")], [hook("a1", "after")]
    registry.get_before_snapshot = lambda: before  # type: ignore[attr-defined]
    registry.get_after_restore = lambda: after  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", registry)
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")
    double = answered(handled(lambda event, context: {"statusCode": 200, "body": "x"}), GATEWAY)
    asked = [one.path.rpartition("runtime/")[2] for one in double.requests]
    if broken == "before":
        assert (order, asked, double.ended) == (["b2"], ["init/error"], 1)
    elif broken == "after":
        assert (order, asked, double.ended) == (["b2", "b1", "a1"], ["restore/next", "restore/error"], 1)
    else:
        assert order == ["b2", "b1", "a1"]
        assert asked[:3] == ["restore/next", "invocation/next", "invocation/request-1/response"]
        assert double.connections == 2  # none that was made before the snapshot is used after it


def test_time_that_is_up_is_no_time_left(handled: Callable[..., str]) -> None:
    name = handled(lambda event, context: context.get_remaining_time_in_millis())
    assert answered(name, {}, headers={"Lambda-Runtime-Deadline-Ms": "1"}).request("/response").body == b"0"


HANDLER = """
import logging, os, signal, sys

import beside


def answer(event, context):
    logging.getLogger("library").warning("line 1\\nline 2")
    print(beside.WHERE, os.environ["LAMBDA_TASK_ROOT"] + "/runtime" in sys.path, *sys.path[:3])
    os.kill(os.getpid(), signal.SIGKILL)  # nothing is written after this
"""


def test_lambdas_command_starts_it_and_what_is_logged_leaves_at_once(tmp_path: Path) -> None:
    function = Path(__file__).parents[2] / "functions" / "query"
    shutil.copy(function / "stream.sh", tmp_path)
    shutil.copytree(function / "runtime", tmp_path / "runtime")
    for needed in ("rag/errors.py", "routes/__init__.py", "routes/gateway.py"):
        (tmp_path / needed).parent.mkdir(exist_ok=True)
        shutil.copy(function / needed, tmp_path / needed)
    (tmp_path / "handled.py").write_text(HANDLER, encoding="utf-8")
    (tmp_path / "beside.py").write_text("WHERE = __file__", encoding="utf-8")

    with RuntimeApiDouble([GATEWAY]) as double:
        done = subprocess.run(
            [tmp_path / "stream.sh", sys.executable, "/var/runtime/bootstrap.py"],
            cwd="/",
            env={
                "PATH": "/usr/bin:/bin",
                "LAMBDA_TASK_ROOT": str(tmp_path),
                "AWS_LAMBDA_RUNTIME_API": double.address,
                "AWS_LAMBDA_LOG_FORMAT": "JSON",
                "_HANDLER": "handled.answer",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert (done.returncode, done.stderr) == (-9, "")
    logged, printed = done.stdout.splitlines()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    first = [str(tmp_path), f"/opt/python/lib/{version}/site-packages", "/opt/python"]
    assert printed.split() == [str(tmp_path / "beside.py"), "False", *first]
    told = json.loads(logged)
    assert (told["level"], told["logger"], told["message"]) == ("WARNING", "library", "line 1\nline 2")
    assert told["timestamp"].endswith("Z")


def test_one_who_writes_to_nobody_is_told(handled: Callable[..., str]) -> None:
    gone: list[bool] = []

    def handler(event: Any, context: InvocationContext) -> None:
        stream = streamed(context)
        stream.open(200, HEAD)
        stream._connection.sock.close()
        with pytest.raises(ClientGone):
            stream.write(b"x")
        gone.append(True)

    answered(handled(handler), GATEWAY)
    assert gone == [True]
