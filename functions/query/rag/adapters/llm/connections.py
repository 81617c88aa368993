"""The connections of an OpenAI client: they follow nobody, read little of an error, and can be closed and go on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from openai import APIResponse, OpenAI

MAX_ERROR_BYTES = 64 * 1024
"""Of an error's body; the client reads all that there is of it, before anybody is asked."""


def make_connections() -> httpx2.Client:
    """The SDK's own, with its timeouts and limits, but for three things.

    A redirect would send the prompt to an address that nobody chose. Nothing compressed is asked for: a thousand bytes
    can be a gigabyte. And of an error no more than ``MAX_ERROR_BYTES`` are read, as they come.
    """
    import openai

    return openai.DefaultHttpxClient(
        follow_redirects=False, headers={"Accept-Encoding": "identity"}, event_hooks={"response": [_bound_error]}
    )


def close_connections(client: OpenAI) -> None:
    """Those of its pools. A client that is closed is of no further use, and making another takes 44 ms of CPU.

    There is no public way. A pool that is closed opens new connections when it is asked again.
    """
    http = client._client
    for transport in (http._transport, *http._mounts.values()):
        if transport is not None:
            transport.close()


def hang_up(response: APIResponse[Any]) -> None:
    """End the connection of a response that another thread is reading: closing alone would not wake that."""
    stream = response.http_response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream else None
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _bound_error(response: httpx2.Response) -> None:
    """Called when a response's headers are there and its body is not read yet."""
    if response.status_code >= 300:
        response.headers.pop("Content-Encoding", None)
        response.stream = _bounded()(response.stream)


@cache
def _bounded() -> Any:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        """The first ``MAX_ERROR_BYTES`` of ``inner``."""

        def __init__(self, inner: httpx2.SyncByteStream) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            left = MAX_ERROR_BYTES
            for part in self._inner:
                yield part[:left]
                left -= len(part)
                if left <= 0:
                    return

        def close(self) -> None:
            """Give back the connection."""
            self._inner.close()

    return Bounded
