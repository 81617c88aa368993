"""Cross-origin requests (CORS): the pages of others that may ask this service from a browser, where some are named.

API Gateway adds no headers to what a function returns, and knows one origin a method, so the function answers them. The
gateway's own answers (403, 429) have no such header: a browser hides them from a page of another origin.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from routes.streams import ResponseStream

ASKED_WITH = "authorization, content-type, x-api-key"
METHODS = "GET, POST"
MAX_AGE_S = 7200
"""A browser asks again after this time: the longest that any of them keeps an answer."""


def shared_with(event: Mapping[str, Any], origins: Collection[str]) -> dict[str, str]:
    """The headers for the page that sent ``event``, if it is one of ``origins`` ("*": of any page)."""
    if not origins:
        return {}
    sent = {name.lower(): value for name, value in (event.get("headers") or {}).items()}.get("origin", "")
    if "*" not in origins and sent not in origins:
        return {"Vary": "Origin"}
    allowed = "*" if "*" in origins else sent
    return {"Access-Control-Allow-Origin": allowed, "Access-Control-Expose-Headers": "Retry-After", "Vary": "Origin"}


def preflight(shared: Mapping[str, str]) -> dict[str, Any]:
    """The answer to OPTIONS: a page that may not ask is told nothing."""
    allowed = {
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": ASKED_WITH,
        "Access-Control-Max-Age": str(MAX_AGE_S),
    }
    told = {**shared, **(allowed if "Access-Control-Allow-Origin" in shared else {})}
    many = {name: [value] for name, value in told.items()}
    return {"statusCode": 204, "multiValueHeaders": many, "body": "", "isBase64Encoded": False}


def with_headers(response: dict[str, Any], shared: Mapping[str, str]) -> dict[str, Any]:
    """A proxy response with the headers ``shared``."""
    more = {name: [value] for name, value in shared.items()}
    return {**response, "multiValueHeaders": {**(response.get("multiValueHeaders") or {}), **more}}


@dataclass(frozen=True, slots=True)
class SharedStream:
    """``stream`` with the headers ``shared`` on what it begins with."""

    stream: ResponseStream
    shared: Mapping[str, str] = field(default_factory=dict)

    @property
    def opened(self) -> bool:
        """Whether it has begun."""
        return self.stream.opened

    def open(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin it."""
        self.stream.open(status, {**headers, **self.shared})

    def write(self, data: bytes) -> None:
        """Send ``data``; ClientGone when nobody listens."""
        self.stream.write(data)
