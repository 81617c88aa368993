"""Cross-origin requests (CORS): pages of other sites may ask this service if the setting ALLOWED_ORIGINS names them.

API Gateway adds no headers to a function's response, and knows one origin a method, so the function adds them. The
gateway's own responses (403, 429) have no such header: a browser hides them from a page of another origin.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

ALLOWED_HEADERS = "authorization, content-type, x-api-key"
METHODS = "GET, POST"
MAX_AGE_S = 7200
"""Browsers cache a preflight response this long: no browser caches it longer."""


def cors_headers(event: Mapping[str, Any], origins: Collection[str]) -> dict[str, str]:
    """Return the headers for the page that sent ``event``, if ``origins`` holds its origin or "*"."""
    if not origins:
        return {}
    sent = {name.lower(): value for name, value in (event.get("headers") or {}).items()}.get("origin", "")
    if "*" not in origins and sent not in origins:
        return {"Vary": "Origin"}
    allowed = "*" if "*" in origins else sent
    return {"Access-Control-Allow-Origin": allowed, "Access-Control-Expose-Headers": "Retry-After", "Vary": "Origin"}


def preflight_response(shared: Mapping[str, str]) -> dict[str, Any]:
    """Return the response to OPTIONS; a page that may not ask learns nothing from it."""
    headers = dict(shared)
    if "Access-Control-Allow-Origin" in shared:
        headers |= {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(MAX_AGE_S),
        }
    return add_headers({"statusCode": 204, "body": "", "isBase64Encoded": False}, headers)


def add_headers(response: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return a proxy response with more headers."""
    lists = {name: [value] for name, value in headers.items()}
    return {**response, "multiValueHeaders": {**(response.get("multiValueHeaders") or {}), **lists}}
