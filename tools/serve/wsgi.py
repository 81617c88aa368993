"""The WSGI application of the local server: each request becomes one call of the Lambda handler."""

from __future__ import annotations

import json
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import responses
from typing import TYPE_CHECKING, Any

from waitress.channel import ClientDisconnected

from rag.errors import ClientGone
from rag.http.failures import error_body_at
from rag.http.requests import OTHER_SITE, is_from_another_site
from serve.gateway import HttpResponse, MalformedResponse, http_response, rest_event

if TYPE_CHECKING:
    from routes.call import ResponseStream

MAX_BODY_BYTES = 10 * 1024 * 1024
"""API Gateway's limit of a request."""
DISCARD_BYTES = 16 * 1024 * 1024
"""Bytes that are read beyond the limit of a body: most clients read the answer only after sending."""
TIME_LIMIT_S = 900.0
"""API Gateway's limit of a streamed response, and so the function's timeout. The program's own limits are shorter."""

STREAMED = HttpResponse("200 OK", (), b"")
"""A placeholder for a response that was already sent."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

type Handler = Callable[[dict[str, Any], LocalContext], object]
type StartResponse = Callable[[str, list[tuple[str, str]]], Callable[[bytes], object]]


class WsgiStream:
    """A ``routes.call.ResponseStream`` over WSGI's ``write``; without a length each piece is sent at once."""

    def __init__(self, start_response: StartResponse, request_id: str) -> None:
        self._start_response = start_response
        self._request_id = request_id
        self._write: Callable[[bytes], object] | None = None

    @property
    def opened(self) -> bool:
        """Whether the response has begun."""
        return self._write is not None

    def open(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head."""
        named = [*headers.items(), ("x-amzn-RequestId", self._request_id)]
        self._write = self._start_response(f"{status:d} {responses.get(status, 'Unknown')}", named)

    def write(self, data: bytes) -> None:
        """Send ``data``; ClientGone when the connection is closed."""
        if self._write is None:
            raise ValueError("write before open")
        try:
            self._write(data)
        except (ClientDisconnected, OSError) as exc:
            raise ClientGone("The client closed the connection") from exc


@dataclass(frozen=True, slots=True)
class LocalContext:
    """The part of Lambda's context that the function reads; the call ends at ``ends_at``, seconds on ``clock``."""

    aws_request_id: str
    ends_at: float
    clock: Callable[[], float]
    function_name: str = "query"
    memory_limit_in_mb: int = 1769
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:000000000000:function:query"
    response_stream: ResponseStream | None = None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end the call, never negative."""
        return max(0, int(1000 * (self.ends_at - self.clock())))


@dataclass(frozen=True, slots=True)
class Gateway:
    """The WSGI application around ``handler``; ``clock`` counts seconds, monotonically.

    With ``local`` it answers this machine only: a page of another site may make its own name resolve to this address.
    """

    handler: Handler
    clock: Callable[[], float] = time.monotonic
    local: bool = False

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, and write one line about it to ``wsgi.errors``."""
        start, request_id = self.clock(), str(uuid.uuid4())
        stream = WsgiStream(start_response, request_id)
        response = self._answer(environ, request_id, stream)
        if not stream.opened:
            start_response(response.status, list(response.headers))
        took_ms = 1000 * (self.clock() - start)
        path = str(environ.get("REQUEST_URI") or environ.get("PATH_INFO", "")).partition("?")[0]
        line = f"{environ['REQUEST_METHOD']} {path} {response.status.split()[0]} {took_ms:.0f} ms\n"
        environ["wsgi.errors"].write(line)
        return [] if environ["REQUEST_METHOD"] == "HEAD" or stream.opened else [response.body]

    def _answer(self, environ: Mapping[str, Any], request_id: str, stream: WsgiStream) -> HttpResponse:
        data: bytes = environ["wsgi.input"].read(MAX_BODY_BYTES + 1)
        body = data if len(data) <= MAX_BODY_BYTES else None
        path = str(environ.get("PATH_INFO") or "/")
        if self.local and _host(environ) not in LOOPBACK:
            sentence = f"This server answers {', '.join(sorted(LOOPBACK))} only; others need ragctl serve --host"
            return _error(path, HTTPStatus.FORBIDDEN, sentence, "forbidden", request_id)
        if environ["REQUEST_METHOD"] not in SAFE and (refused := _check_browser(environ, body)):
            return _error(path, *refused, request_id)
        if body is None:
            sentence = f"Request body exceeds {MAX_BODY_BYTES // 1024**2} MB"
            return _error(path, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence, "body_too_large", request_id)
        event = rest_event(environ, body, request_id=request_id, at=datetime.now(UTC))
        context = LocalContext(request_id, self.clock() + TIME_LIMIT_S, self.clock, response_stream=stream)
        try:
            result = self.handler(event, context)
            return STREAMED if stream.opened else http_response(result, request_id=request_id)
        except MalformedResponse as error:
            environ["wsgi.errors"].write(f"{error}\n")
        except Exception:  # noqa: BLE001 - Lambda reports whatever escapes from a handler, and goes on
            environ["wsgi.errors"].write(traceback.format_exc())
        return _error(path, HTTPStatus.BAD_GATEWAY, "Internal server error", "bad_gateway", request_id)


def _check_browser(environ: Mapping[str, Any], body: bytes | None) -> tuple[HTTPStatus, str, str] | None:
    """Return status, message and code if a request could come from a page of another site, else None.

    Such a page must not use this user's key or start an ingest.
    """
    origin, fetch_site = str(environ.get("HTTP_ORIGIN") or ""), str(environ.get("HTTP_SEC_FETCH_SITE") or "")
    if is_from_another_site(host=str(environ.get("HTTP_HOST") or ""), origin=origin, fetch_site=fetch_site):
        return HTTPStatus.FORBIDDEN, OTHER_SITE, "forbidden"
    kind = str(environ.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower()
    if body and kind != "application/json" and not kind.endswith("+json") and (kind or origin or fetch_site):
        # Without any, as a program may send it, a body is read as JSON: so it is on Lambda.
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json", "unsupported_media_type"
    return None


def _host(environ: Mapping[str, Any]) -> str:
    """Return the host name that the request was sent to, without the port."""
    named = str(environ.get("HTTP_HOST") or "localhost").lower()
    return named.rpartition(":")[0] if named.rpartition(":")[2].isdigit() else named


def _error(path: str, status: HTTPStatus, sentence: str, code: str, request_id: str) -> HttpResponse:
    body = json.dumps(error_body_at(path, sentence, code, status))
    headers = {"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
    return http_response({"statusCode": int(status), "headers": headers, "body": body}, request_id=request_id)
