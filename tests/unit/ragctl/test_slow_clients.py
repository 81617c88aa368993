"""ragctl.slow_clients: when a request has arrived."""

from __future__ import annotations

import pytest

from ragctl.slow_clients import ENOUGH_BYTES, HEAD_BYTES, has_arrived

POST = b"POST /api/query HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        POST + b"Content-Length: 4\r\n\r\n{} \n",
        POST + b"content-length:0\r\n\r\n",
        POST + b"Transfer-Encoding: gzip, Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nDigest: x\r\nA: b\r\n\r\n",
    ],
)
def test_a_request_has_arrived_with_its_last_byte(request_bytes: bytes) -> None:
    arrived = [end for end in range(len(request_bytes) + 1) if has_arrived(request_bytes[:end])]
    assert arrived == [len(request_bytes)]


def test_what_is_too_large_need_not_arrive() -> None:
    body = POST + b"Content-Length: 99999999\r\n\r\n"
    chunks = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    assert not has_arrived(body.ljust(ENOUGH_BYTES - 1, b"x"))
    assert not has_arrived(chunks.ljust(ENOUGH_BYTES - 1, b"x"))
    assert has_arrived(body.ljust(ENOUGH_BYTES, b"x"))
    assert has_arrived(chunks.ljust(ENOUGH_BYTES, b"x"))
    assert has_arrived(b"x" * HEAD_BYTES)
    assert not has_arrived(b"x" * (HEAD_BYTES - 1))
