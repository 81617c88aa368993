"""The format of API Gateway's events and responses: paths, streams, and cross-origin requests (CORS).

API Gateway adds no CORS headers to a function's response, and knows one origin a method, so the function adds them. The
gateway's own responses (403, 429) have no such header: a browser hides them from a page of another origin.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

type Response = dict[str, Any]
"""A response in the format of Lambda's proxy integration."""

REST_EVENT = {"httpMethod": str, "path": str, "headers": dict | None, "body": str | None}
PRELUDE_END = b"\0" * 8
LONGEST_WAIT_S = 60.0
"""API Gateway gives up after 29 s: an event received longer ago is a stored one that was sent again."""
_PLACEHOLDER = re.compile(r"\{([^{}+]+)\}")


def as_request(event: Any) -> dict[str, Any]:
    """Return ``event`` as a REST event with a route's path; any other event is the body of a question."""
    if isinstance(event, dict) and all(isinstance(event.get(name), kind) for name, kind in REST_EVENT.items()):
        return {**event, "path": _route_path(event)}
    return {"httpMethod": "POST", "path": "/api/query", "headers": {}, "body": json.dumps(event), "requestContext": {}}


def _route_path(event: dict[str, Any]) -> str:
    """Return the resource that API Gateway has matched, its parameters filled in.

    The path begins with the prefix of a custom domain ("/help/api/query"), the resource never does. A greedy resource
    ("/{proxy+}") names no route: then the path does.
    """
    resource, parameters = event.get("resource"), event.get("pathParameters") or {}
    if not isinstance(resource, str) or not resource.startswith("/") or "+}" in resource:
        return str(event["path"])
    if any(name not in parameters for name in _PLACEHOLDER.findall(resource)):
        return str(event["path"])
    return _PLACEHOLDER.sub(lambda found: str(parameters[found[1]]), resource)


def reads_streams(event: Any) -> bool:
    """Return whether the stage that sent ``event`` reads the streamed format: its variable ``streaming`` is "on".

    A deployment changes the function first and the stage last, so the event alone tells the stage's mode.
    """
    variables = event.get("stageVariables") if isinstance(event, dict) else None
    return isinstance(variables, dict) and variables.get("streaming") == "on"


def since_received_s(event: Any, now: float) -> float:
    """Return the seconds that the caller has waited at ``now`` (Unix time): for an init, a restore, the authorizer.

    API Gateway's limit counts from there, Lambda's remaining time begins later. 0 if the event has no time.
    """
    received_ms = (event.get("requestContext") or {}).get("requestTimeEpoch")
    waited_s = now - received_ms / 1000 if isinstance(received_ms, int | float) else 0.0
    return waited_s if 0 < waited_s <= LONGEST_WAIT_S else 0.0


def text_response(status: int, content_type: str, body: str, headers: Mapping[str, str]) -> Response:
    """Return a response with a text as its body."""
    response = {"statusCode": int(status), "body": body, "isBase64Encoded": False}
    return add_headers(response, {**headers, "Content-Type": content_type})


def prelude(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the beginning of the streamed format: status and headers of a proxy response."""
    return {name: response[name] for name in ("statusCode", "headers", "multiValueHeaders") if response.get(name)}


def content(response: Mapping[str, Any]) -> bytes:
    """Return the bytes of a proxy response's body."""
    body = response.get("body") or ""
    return base64.b64decode(body) if response.get("isBase64Encoded") else body.encode("utf-8", "replace")


def streamed_whole(response: Mapping[str, Any]) -> bytes:
    """Return a proxy response in the streamed format, in one piece; Lambda's own runtime sends bytes unchanged."""
    return json.dumps(prelude(response)).encode() + PRELUDE_END + content(response)


def cors_headers(origin: str, origins: Collection[str]) -> dict[str, str]:
    """Return the headers for a page of ``origin``, if ``origins`` holds it or "*"."""
    if not origins:
        return {}
    allowed = "*" if "*" in origins else origin
    if allowed not in origins:
        return {"Vary": "Origin"}
    return {"Access-Control-Allow-Origin": allowed, "Access-Control-Expose-Headers": "Retry-After", "Vary": "Origin"}


def preflight_response(headers: Mapping[str, str]) -> Response:
    """Return the response to OPTIONS; a page that may not ask learns nothing from it."""
    if "Access-Control-Allow-Origin" in headers:
        headers = {
            **headers,
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "authorization, content-type, x-api-key",
            "Access-Control-Max-Age": "7200",  # no browser caches the response longer
        }
    return add_headers({"statusCode": 204, "body": "", "isBase64Encoded": False}, headers)


def add_headers(response: Response, headers: Mapping[str, str]) -> Response:
    """Return ``response`` with more headers."""
    lists = {name: [value] for name, value in headers.items()}
    return {**response, "multiValueHeaders": {**(response.get("multiValueHeaders") or {}), **lists}}
