"""API Gateway as two pure functions: a WSGI request to a REST (v1, proxy) event, a proxy response to WSGI.

Format: docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import responses
from typing import Any
from urllib.parse import parse_qsl

STAGE = "local"
ACCOUNT = "000000000000"
NO_AWS_IDENTITY = dict.fromkeys(
    (
        *("accessKey", "accountId", "caller", "principalOrgId", "user", "userArn", "cognitoIdentityId"),
        *("cognitoAuthenticationProvider", "cognitoAuthenticationType", "cognitoIdentityPoolId"),
    )
)

type Event = dict[str, Any]


class MalformedResponse(ValueError):
    """A response of the function that API Gateway would reject."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response for WSGI: ``status`` is "200 OK"; a header with several values is repeated."""

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def rest_event(environ: Mapping[str, Any], body: bytes, *, request_id: str, at: datetime) -> Event:
    """Return the event for a WSGI request: ``at`` (aware) is its time, ``body`` its whole body.

    WSGI joins repeated headers with commas, so each has one value. A body that is not UTF-8 is base64.
    """
    method = str(environ["REQUEST_METHOD"])
    # WSGI passes bytes decoded as Latin-1.
    path = str(environ.get("PATH_INFO") or "").encode("latin-1", "replace").decode("utf-8", "replace") or "/"
    headers = _request_headers(environ)
    query = parse_qsl(str(environ.get("QUERY_STRING", "")), keep_blank_values=True)
    text, encoded = _request_body(body)
    groups: dict[str, list[str]] = {}
    for name, value in query:
        groups.setdefault(name, []).append(value)
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": groups or None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": "local",
            "domainName": headers.get("Host", "localhost"),
            "domainPrefix": "localhost",
            "extendedRequestId": request_id,
            "httpMethod": method,
            "identity": {
                **NO_AWS_IDENTITY,
                "sourceIp": environ.get("REMOTE_ADDR") or "127.0.0.1",
                "userAgent": headers.get("User-Agent"),
            },
            "path": path,  # API Gateway's has the stage, which the local address lacks
            "protocol": environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
            "requestId": request_id,
            "requestTime": at.strftime("%d/%b/%Y:%H:%M:%S %z"),
            "requestTimeEpoch": int(at.timestamp() * 1000),
            "resourceId": "local",
            "resourcePath": "/{proxy+}",
            "stage": STAGE,
        },
        "body": text,
        "isBase64Encoded": encoded,
    }


def http_response(result: object, *, request_id: str) -> HttpResponse:
    """Return a function's proxy response as API Gateway would send it.

    ``multiValueHeaders`` go before ``headers`` of the same name; without a Content-Type it is JSON.

    Raises:
        MalformedResponse: API Gateway would answer 502.
    """
    if not isinstance(result, Mapping):
        raise MalformedResponse(f"the function returned {type(result).__name__}, not an object")
    multiple = result.get("multiValueHeaders") or {}
    repeated = {name.lower() for name in multiple}
    single = (result.get("headers") or {}).items()
    headers = [(name, _header_value(value)) for name, value in single if name.lower() not in repeated]
    headers += [(name, _header_value(value)) for name, values in multiple.items() for value in values]
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", "application/json"))
    try:
        status = int(result["statusCode"])
        body = _response_body(result.get("body"), encoded=bool(result.get("isBase64Encoded")))
    except (KeyError, TypeError, ValueError) as exc:
        raise MalformedResponse(f"the function's response is malformed: {exc!r}") from exc
    own = {"content-length", "connection", "transfer-encoding"}
    sent = [(name, value) for name, value in headers if name.lower() not in own]
    sent += [("Content-Length", str(len(body))), ("x-amzn-RequestId", request_id)]
    return HttpResponse(f"{status} {responses.get(status, 'Unknown')}", tuple(sent), body)


def _request_headers(environ: Mapping[str, Any]) -> dict[str, str]:
    named = {name[5:]: str(value) for name, value in environ.items() if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            named[name] = str(environ[name])
    return {name.replace("_", "-").title(): value for name, value in named.items()}


def _request_body(body: bytes) -> tuple[str | None, bool]:
    if not body:
        return None, False
    try:
        return body.decode("utf-8"), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode("ascii"), True


def _header_value(value: object) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    if "\r" in text or "\n" in text:
        raise MalformedResponse("a header's value holds a line break")
    return text.encode("latin-1", "replace").decode("latin-1")


def _response_body(body: object, *, encoded: bool) -> bytes:
    if body is None:
        return b""
    if not isinstance(body, str):
        raise TypeError(f"body is {type(body).__name__}, not a string")
    try:
        return base64.b64decode(body, validate=True) if encoded else body.encode("utf-8", "replace")
    except binascii.Error as exc:
        raise ValueError("body is not base64") from exc
