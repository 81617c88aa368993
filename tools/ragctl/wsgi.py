"""The WSGI application of the local server: each request becomes one call of the Lambda handler."""

from __future__ import annotations

import json
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Protocol

from ragctl.gateway import HttpResponse, MalformedResponse, http_response, rest_event

MAX_BODY_BYTES = 10 * 1024 * 1024
"""API Gateway's limit of a request."""
DISCARD_BYTES = 16 * 1024 * 1024
"""How much of a body over the limit is read and thrown away: most clients look at the answer only after sending."""
BLOCK_BYTES = 64 * 1024
TIME_LIMIT_S = 29.0
"""API Gateway's limit of an integration, and so the function's timeout."""

type Handler = Callable[[dict[str, Any], LocalContext], object]
type StartResponse = Callable[[str, list[tuple[str, str]]], object]


class Readable(Protocol):
    """A request's body."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; b"" at the end."""
        ...


@dataclass(frozen=True, slots=True)
class LocalContext:
    """Lambda's context object, with a deadline that falls. ``ends_at`` is on ``clock``, in seconds."""

    aws_request_id: str
    ends_at: float
    clock: Callable[[], float]
    function_name: str = "query"
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 1769
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:000000000000:function:query"
    log_group_name: str = "/aws/lambda/query"
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end the call, never negative."""
        return max(0, int(1000 * (self.ends_at - self.clock())))


@dataclass(frozen=True, slots=True)
class Gateway:
    """The WSGI application around ``handler``; ``clock`` counts seconds, monotonically."""

    handler: Handler
    clock: Callable[[], float] = time.monotonic

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; one line about it goes to ``wsgi.errors``."""
        start = self.clock()
        response = self._answer(environ, str(uuid.uuid4()))
        start_response(response.status, list(response.headers))
        took_ms = 1000 * (self.clock() - start)
        path = str(environ.get("RAW_URI") or environ.get("PATH_INFO", "")).partition("?")[0]
        line = f"{environ['REQUEST_METHOD']} {path} {response.status.split()[0]} {took_ms:.0f} ms\n"
        environ["wsgi.errors"].write(line)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def _answer(self, environ: Mapping[str, Any], request_id: str) -> HttpResponse:
        body = _read_body(environ)
        if body is None:
            sentence = f"Request body exceeds {MAX_BODY_BYTES // 1024**2} MB"
            return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence, "body_too_large", request_id)
        event = rest_event(environ, body, request_id=request_id, at=datetime.now(UTC))
        context = LocalContext(request_id, self.clock() + TIME_LIMIT_S, self.clock)
        try:
            return http_response(self.handler(event, context), request_id=request_id)
        except MalformedResponse as error:
            environ["wsgi.errors"].write(f"{error}\n")
        except Exception:  # noqa: BLE001 - Lambda reports whatever escapes from a handler, and goes on
            environ["wsgi.errors"].write(traceback.format_exc())
        return _error(HTTPStatus.BAD_GATEWAY, "Internal server error", "bad_gateway", request_id)


def _read_body(environ: Mapping[str, Any]) -> bytes | None:
    """The whole body; None when it is too large, in which case some of it may be left unread."""
    stream: Readable = environ["wsgi.input"]
    length = str(environ.get("CONTENT_LENGTH") or "")
    announced = int(length) if length.isdigit() else 0
    body = b"" if announced > MAX_BODY_BYTES else b"".join(_blocks(stream, MAX_BODY_BYTES + 1))
    if max(announced, len(body)) <= MAX_BODY_BYTES:
        return body
    for _ in _blocks(stream, DISCARD_BYTES):
        pass
    return None


def _blocks(stream: Readable, limit: int) -> Iterator[bytes]:
    """Up to ``limit`` bytes of ``stream``, in blocks."""
    while limit > 0 and (block := stream.read(min(limit, BLOCK_BYTES))):
        limit -= len(block)
        yield block


def _error(status: HTTPStatus, sentence: str, code: str, request_id: str) -> HttpResponse:
    body = json.dumps({"error": sentence, "code": code})
    return http_response({"statusCode": int(status), "body": body}, request_id=request_id)
