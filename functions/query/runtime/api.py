"""The part of Lambda's Runtime API that a streaming runtime needs, over one persistent connection.

docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and runtimes-custom.html (response streaming). A response is
sent in chunks: a JSON prelude with status and headers, eight NUL bytes, the body. Trailers report a late error.
"""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any

from routes.gateway import PRELUDE_END

from rag.errors import ClientGone

VERSION = "2018-06-01"
PRELUDE_TYPE = "application/vnd.awslambda.http-integration-response"


class RuntimeApiError(Exception):
    """The Runtime API refused a call or cannot be reached: the environment must end."""


@dataclass(frozen=True, slots=True)
class PendingInvocation:
    """One event with the Runtime API's ``headers``."""

    request_id: str
    event: Any
    headers: HTTPMessage


class RuntimeApi:
    """The API at ``address``, host:port as in ``AWS_LAMBDA_RUNTIME_API``."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address)  # without a time limit: an environment waits for its next event

    def next(self) -> PendingInvocation:
        """Wait for the next event and return it."""
        headers, body = self._send("GET", "runtime/invocation/next")
        return PendingInvocation(headers["Lambda-Runtime-Aws-Request-Id"], json.loads(body), headers)

    def restore_next(self) -> None:
        """Wait until Lambda has taken a snapshot and restored it."""
        self._send("GET", "runtime/restore/next")
        self._connection.close()  # from before the snapshot; the next request makes a new one

    def succeed(self, request_id: str, result: object) -> None:
        """Answer an event with ``result`` as JSON, in one piece."""
        body = json.dumps(result, ensure_ascii=False).encode("utf-8", "replace")
        self._send("POST", f"runtime/invocation/{request_id}/response", body, {"Content-Type": "application/json"})

    def respond(self, request_id: str) -> StreamedResponse:
        """Return the response to an event, not opened yet."""
        return StreamedResponse(self._connection, f"/{VERSION}/runtime/invocation/{request_id}/response")

    def fail(self, stage: str, error: BaseException) -> None:
        """Report that ``stage`` (``init``, ``restore``, ``invocation/ID``) failed."""
        report = json.dumps(error_report(error))
        headers = {"Content-Type": "application/json", "Lambda-Runtime-Function-Error-Type": type(error).__name__}
        self._send("POST", f"runtime/{stage}/error", report.encode(), headers)

    def _send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[HTTPMessage, bytes]:
        try:
            self._connection.request(method, f"/{VERSION}/{path}", body, dict(headers or {}))
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as exc:
            raise RuntimeApiError(f"{method} {path}: {type(exc).__name__}") from exc
        if response.status >= 300:
            raise RuntimeApiError(f"{method} {path}: status {response.status}")
        return response.headers, content


class StreamedResponse:
    """A ``routes.call.ResponseStream`` to the Runtime API."""

    def __init__(self, connection: HTTPConnection, path: str) -> None:
        self._connection = connection
        self._path = path
        self.opened = False

    def open(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the prelude."""
        self.open_with({"statusCode": status, "headers": dict(headers)})

    def open_with(self, prelude: Mapping[str, Any]) -> None:
        """Send ``prelude``: statusCode, headers, multiValueHeaders.

        Raises:
            ValueError: the response has begun already, or a header is not printable ASCII.
        """
        if self.opened:
            raise ValueError("the response has begun already")
        fields = [*prelude.get("headers", {}).items()]
        fields += [(name, value) for name, values in prelude.get("multiValueHeaders", {}).items() for value in values]
        for name, value in fields:
            if not (f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
                raise ValueError(f"the header {name!a} is not printable ASCII")
        self.opened = True
        try:
            self._connection.putrequest("POST", self._path, skip_accept_encoding=True)
            self._connection.putheader("Content-Type", PRELUDE_TYPE)
            self._connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
            self._connection.putheader("Transfer-Encoding", "chunked")
            self._connection.putheader("Trailer", "Lambda-Runtime-Function-Error-Type")
            self._connection.putheader("Trailer", "Lambda-Runtime-Function-Error-Body")
            self._connection.endheaders()
        except OSError as exc:
            raise ClientGone("The Runtime API closed the connection") from exc
        self.write(json.dumps(prelude).encode() + PRELUDE_END)

    def write(self, data: bytes) -> None:
        """Send ``data`` as a chunk.

        Raises:
            ClientGone: the Runtime API closed the connection.
        """
        if data:
            self._push(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self, error: BaseException | None = None) -> None:
        """End the response; trailers report an ``error``.

        Raises:
            RuntimeApiError: the Runtime API did not accept it.
        """
        trailers = b""
        if error is not None:
            report = base64.b64encode(json.dumps(error_report(error)).encode())
            trailers = b"Lambda-Runtime-Function-Error-Type: %b\r\n" % type(error).__name__.encode()
            trailers += b"Lambda-Runtime-Function-Error-Body: %b\r\n" % report
        try:
            self._push(b"0\r\n%b\r\n" % trailers)
            response = self._connection.getresponse()
            response.read()
        except (ClientGone, OSError, HTTPException) as exc:
            self._connection.close()  # the next request makes a new one
            raise RuntimeApiError(f"response: {type(exc).__name__}") from exc
        if response.status >= 300:
            raise RuntimeApiError(f"response: status {response.status}")

    def _push(self, data: bytes) -> None:
        try:
            self._connection.send(data)
        except OSError as exc:
            raise ClientGone("The Runtime API closed the connection") from exc


def error_report(error: BaseException) -> dict[str, Any]:
    """Return ``error`` in Lambda's format."""
    return {
        "errorType": type(error).__name__,
        "errorMessage": str(error),
        "stackTrace": traceback.format_tb(error.__traceback__),
    }
