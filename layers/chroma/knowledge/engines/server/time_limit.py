"""The time that a thread's calls over HTTP may take in all. httpx's own limit begins anew with each byte that comes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextvars import ContextVar

import httpx

LONGEST_S = 3600.0
"""A socket takes no infinite limit."""

ends: ContextVar[float] = ContextVar("ends", default=math.inf)
"""When (``time.monotonic()``) this thread's calls are to be over."""


def limit(request: httpx.Request) -> None:
    """Let ``request`` wait no longer than until then; a hook of httpx."""
    seconds = min(LONGEST_S, max(0.001, ends.get() - time.monotonic()))
    request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), seconds)


def bound(response: httpx.Response) -> None:
    """Let the body of ``response`` be read until then; a hook of httpx."""
    assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101 - of a client that is not async
    response.stream = _Bounded(response.stream)


class _Bounded(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > ends.get():
                raise httpx.ReadTimeout("The answer took too long")
            yield part

    def close(self) -> None:
        self._stream.close()
