"""The WSGI application around the handler."""

import io
import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from rag.config.settings import Settings
from serve import wsgi
from serve.wsgi import Gateway, LocalContext

LIMIT = wsgi.MAX_BODY_BYTES


@dataclass
class Function:
    """A Lambda function that records its calls; ``result`` is returned, or raised."""

    result: object = field(default_factory=lambda: {"statusCode": 200, "body": "{}"})
    calls: list[tuple[dict[str, Any], LocalContext]] = field(default_factory=list)

    def __call__(self, event: dict[str, Any], context: LocalContext) -> object:
        self.calls.append((event, context))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def request(
    function: Function, local: bool = False, /, *, body: bytes = b"", method: str = "POST", path: str = "/api/query",
    **headers: str,
) -> SimpleNamespace:  # fmt: skip
    """One request through the gateway: its status, headers, body and log."""
    log = io.StringIO()
    line = {"REQUEST_METHOD": method, "PATH_INFO": path, "REQUEST_URI": "/api/query?q=secret"}
    asked = {
        **line, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), "wsgi.errors": log, **headers,
    }  # fmt: skip
    got: list[Any] = []
    gateway = Gateway(function, clock=lambda: 100.0, local=local)
    chunks = gateway(asked, lambda status, headers: got.extend((status, dict(headers))))  # type: ignore[arg-type, return-value]
    return SimpleNamespace(status=got[0], headers=got[1], body=b"".join(chunks), log=log.getvalue())


def test_a_request_is_one_call_of_the_handler_and_one_line_in_the_log() -> None:
    function = Function({"statusCode": 202, "body": '{"a":1}'})
    got = request(function, body=b'{"query":"x"}')
    ((event, context),) = function.calls
    assert event["body"] == '{"query":"x"}'
    assert event["requestContext"]["requestId"] == context.aws_request_id == got.headers["x-amzn-RequestId"]
    assert (got.status, got.body) == ("202 Accepted", b'{"a":1}')
    assert got.log == "POST /api/query 202 0 ms\n"


def test_the_deadline_falls_from_15_minutes_in_which_a_stream_ends_to_zero() -> None:
    now = [100.0]
    context = LocalContext("r-1", 100.0 + wsgi.TIME_LIMIT_S, lambda: now[0])
    assert context.get_remaining_time_in_millis() == 900_000 > 1000 * Settings().stream_deadline_s
    now[0] = 110.5
    assert context.get_remaining_time_in_millis() == 889_500
    now[0] = 1_000.5
    assert context.get_remaining_time_in_millis() == 0


def test_a_body_over_the_limit_never_reaches_the_function_and_one_of_exactly_the_limit_does() -> None:
    function = Function()
    got = request(function, body=b"x" * (LIMIT + 1))
    assert function.calls == []
    assert got.status.startswith("413 ")
    assert json.loads(got.body) == {"error": "Request body exceeds 10 MB", "code": "body_too_large"}
    assert (got.headers["cache-control"], got.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert request(function, body=b"x" * LIMIT).status == "200 OK"
    assert len(function.calls[0][0]["body"]) == LIMIT


@pytest.mark.parametrize("result", [RuntimeError("boom"), "no response"])
def test_a_function_that_fails_is_502_and_its_words_stay_in_the_log(result: object) -> None:
    got = request(Function(result))
    assert got.status == "502 Bad Gateway"
    assert json.loads(got.body) == {"error": "Internal server error", "code": "bad_gateway"}
    assert "boom" in got.log or "returned str" in got.log


def test_head_goes_to_the_function_and_comes_back_without_a_body() -> None:
    function = Function({"statusCode": 405, "body": '{"error":"no"}'})
    got = request(function, method="HEAD")
    assert function.calls[0][0]["httpMethod"] == "HEAD"
    assert (got.status, got.body, got.headers["Content-Length"]) == ("405 Method Not Allowed", b"", "14")


HERE = "localhost:3000"
JSON = "application/json"
ACTING = ("/api/query", "/v1/query", "/api/feedback", "/v1/chat/completions", "/v1/responses", "/mcp", "/v1/ingest")


@pytest.mark.parametrize("path", ACTING)
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"HTTP_ORIGIN": "https://evil.example", "HTTP_SEC_FETCH_SITE": "cross-site"}, 403, "forbidden"),
        ({"HTTP_ORIGIN": "http://localhost:8000", "HTTP_SEC_FETCH_SITE": "same-site"}, 403, "forbidden"),
        ({"HTTP_ORIGIN": "null"}, 403, "forbidden"),
        ({"HTTP_SEC_FETCH_SITE": "cross-site"}, 403, "forbidden"),
        ({"CONTENT_TYPE": "text/plain"}, 415, "unsupported_media_type"),
        ({"CONTENT_TYPE": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        ({"CONTENT_TYPE": "", "HTTP_ORIGIN": f"http://{HERE}"}, 415, "unsupported_media_type"),
    ],
)
def test_pages_of_other_sites_and_forms_act_on_nothing(
    path: str, headers: dict[str, str], status: int, code: str
) -> None:
    function = Function()
    got = request(function, body=b"{}", path=path, **{"HTTP_HOST": HERE, "CONTENT_TYPE": JSON, **headers})
    told = json.loads(got.body)
    told = told["error"] if path in {"/v1/chat/completions", "/v1/responses"} else told
    assert (got.status[:3], told["code"], function.calls) == (str(status), code, [])


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"HTTP_ORIGIN": f"http://{HERE}", "HTTP_SEC_FETCH_SITE": "same-origin", "CONTENT_TYPE": JSON}),
        ("POST", {"CONTENT_TYPE": "application/json; charset=utf-8"}),
        ("POST", {}),
        ("GET", {"HTTP_SEC_FETCH_SITE": "cross-site"}),
    ],
    ids=["own page", "curl and MCP clients", "no Content-Type", "a link from another site"],
)
def test_the_own_page_programs_and_links_are_let_in(method: str, headers: dict[str, str]) -> None:
    body = b"{}" if method == "POST" else b""
    assert request(Function(), body=body, method=method, HTTP_HOST=HERE, **headers).status == "200 OK"


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:3000", 200), ("127.0.0.1", 200), ("[::1]:3000", 200), ("evil.example:3000", 403)]
)
def test_a_local_server_answers_to_the_names_of_its_machine_alone(host: str, status: int) -> None:
    function = Function()
    got = request(function, True, body=b"{}", HTTP_HOST=host)
    assert (got.status[:3], len(function.calls)) == (str(status), int(status == 200))
