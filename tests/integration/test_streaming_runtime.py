"""The streaming runtime against a Runtime API that keeps every byte."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from fakes_runtime_api import RuntimeApiDouble
from runtime.api import RuntimeApi, RuntimeApiError
from runtime.loop import Context, run

from rag.errors import ClientGone

HEAD = {"Content-Type": "text/event-stream"}
PRELUDE = b'{"statusCode": 200, "headers": {"Content-Type": "text/event-stream"}}' + b"\0" * 8


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
def running(double: RuntimeApiDouble, handler: str) -> Iterator[list[int | BaseException]]:
    """The loop in a thread; it ends when the double has no events any more."""
    ended: list[int | BaseException] = []

    def work() -> None:
        try:
            ended.append(run(RuntimeApi(double.address), handler))
        except RuntimeApiError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    yield ended
    thread.join(60)
    assert not thread.is_alive()


def test_each_piece_is_a_chunk_of_its_own_and_leaves_at_once(handled: Callable[..., str]) -> None:
    go_on = threading.Event()

    def handler(event: Any, context: Context) -> None:
        context.response_stream.open(200, HEAD)
        context.response_stream.write(b"event: delta\n\n")
        assert go_on.wait(60)  # the double has to have the first piece before the second is written
        context.response_stream.write("é".encode())

    with RuntimeApiDouble([{"path": "/"}]) as double, running(double, handled(handler)):
        response = double.request("/response")
        response.wait_for_chunks(2)
        go_on.set()
    assert response.line == "POST /2018-06-01/runtime/invocation/request-1/response HTTP/1.1"
    assert response.headers["content-type"] == "application/vnd.awslambda.http-integration-response"
    assert response.headers["lambda-runtime-function-response-mode"] == "streaming"
    assert response.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in response.headers
    assert response.chunks == [PRELUDE, b"event: delta\n\n", "é".encode()]
    assert response.trailers == {}


def test_a_response_that_is_returned_goes_the_same_way(handled: Callable[..., str]) -> None:
    body = os.urandom(6_000_000)
    returned = {
        "statusCode": 404,
        "headers": {"Content-Type": "application/octet-stream"},
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
    with RuntimeApiDouble([{}]) as double, running(double, handled(lambda event, context: returned)):
        pass
    response = double.request("/response")
    prelude, *rest = response.chunks
    assert json.loads(prelude.removesuffix(b"\0" * 8)) == {
        "statusCode": 404,
        "headers": {"Content-Type": "application/octet-stream"},
        "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
    }
    assert b"".join(rest) == body


def test_events_come_one_after_the_other_on_one_connection(handled: Callable[..., str]) -> None:
    seen: list[tuple[Any, str, int, str, str]] = []

    def handler(event: Any, context: Context) -> dict[str, Any]:
        left = context.get_remaining_time_in_millis()
        trace = os.environ["_X_AMZN_TRACE_ID"]
        seen.append((event, context.aws_request_id, left, context.invoked_function_arn.rpartition(":")[2], trace))
        return {"statusCode": 200, "body": ""}

    with RuntimeApiDouble([{"n": 1}, {"n": 2}]) as double, running(double, handled(handler)) as ended:
        pass
    assert [(event, number) for event, number, *_ in seen] == [({"n": 1}, "request-1"), ({"n": 2}, "request-2")]
    assert all(25_000 < left <= 30_000 for _, _, left, _, _ in seen)
    assert {(alias, trace) for *_, alias, trace in seen} == {("live", "Root=1-2-3")}
    assert double.connections == 1
    assert isinstance(ended[0], RuntimeApiError)


def test_an_error_before_the_response_is_the_invocations(handled: Callable[..., str]) -> None:
    def handler(event: Any, context: Context) -> None:
        raise ValueError("no such thing")

    with RuntimeApiDouble([{}, {}]) as double, running(double, handled(handler)):
        pass
    failed = double.request("/runtime/invocation/request-1/error")
    told = json.loads(failed.body)
    assert (told["errorType"], told["errorMessage"]) == ("ValueError", "no such thing")
    assert failed.headers["lambda-runtime-function-error-type"] == "ValueError"
    assert double.request("/runtime/invocation/request-2/error")


def test_an_error_within_the_response_is_told_in_trailers(handled: Callable[..., str]) -> None:
    def handler(event: Any, context: Context) -> None:
        context.response_stream.open(200, HEAD)
        context.response_stream.write(b"half")
        raise ValueError("broke off")

    with RuntimeApiDouble([{}]) as double, running(double, handled(handler)):
        pass
    response = double.request("/response")
    assert response.chunks == [PRELUDE, b"half"]
    assert response.trailers["lambda-runtime-function-error-type"] == "ValueError"
    told = json.loads(base64.b64decode(response.trailers["lambda-runtime-function-error-body"]))
    assert told["errorMessage"] == "broke off"
    assert "function-error-type" in response.headers["trailer"].lower()


def test_a_handler_that_cannot_be_imported_is_an_error_of_the_init() -> None:
    with RuntimeApiDouble([{}]) as double, running(double, "no_such_module.handler") as ended:
        pass
    assert ended == [1]
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
    name = handled(lambda event, context: {"statusCode": 200, "body": "x"})
    with RuntimeApiDouble([{}]) as double, running(double, name) as ended:
        pass
    asked = [one.line.split()[1].rpartition("runtime/")[2] for one in double.requests]
    if broken == "before":
        assert (order, asked, ended) == (["b2"], ["init/error"], [1])
    elif broken == "after":
        assert (order, asked, ended) == (["b2", "b1", "a1"], ["restore/next", "restore/error"], [1])
    else:
        assert order == ["b2", "b1", "a1"]
        assert asked[:3] == ["restore/next", "invocation/next", "invocation/request-1/response"]


def test_one_who_writes_to_nobody_is_told(handled: Callable[..., str]) -> None:
    gone: list[bool] = []

    def handler(event: Any, context: Context) -> None:
        stream = context.response_stream
        stream.open(200, HEAD)
        stream._connection.sock.close()
        try:
            stream.write(b"x")
        except ClientGone:
            gone.append(True)

    with RuntimeApiDouble([{}]) as double, running(double, handled(handler)):
        pass
    assert gone == [True]
