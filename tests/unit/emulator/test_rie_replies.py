"""The emulator's HTTP replies, as they were seen: what the function returned, or why it returned nothing."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.rie import read_reply

RAISED = {"errorMessage": "no", "errorType": "ValueError", "requestId": "b40d", "stackTrace": []}


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (b'{"statusCode": 200, "body": "{}"}', {"statusCode": 200, "body": "{}"}),
        (b'{"errorMessage": "no", "errorType": "ValueError", "requestId": "b40d", "stackTrace": []}', RAISED),
        (b"null", None),
        (b"", None),
        (b'"text"', "text"),
        (b"[1]", [1]),
        (
            b'{"statusCode": 404, "headers": {"A": "b"}}' + b"\0" * 8 + b"{}\0",
            {"statusCode": 404, "headers": {"A": "b"}, "body": "{}\0", "isBase64Encoded": False},
        ),
    ],
)
def test_what_the_function_returned_or_raised_is_its_body(content: bytes, body: Any) -> None:
    assert read_reply(200, content) == (body, None)


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (200, b"Task timed out after 3.00 seconds", "Task timed out after 3.00 seconds"),
        (502, b'{"errorType":"Runtime.ExitError","errorMessage":"exit status 3"}', "Runtime.ExitError: exit status 3"),
        (502, b'{"errorType": "SystemExit"}', "SystemExit: "),
        (502, b"", "its process ended without a word"),
        (500, b"[1]", "[1]"),
        (502, b"\xff", "\ufffd"),
    ],
)
def test_everything_else_is_a_failure_with_its_reason(status: int, content: bytes, reason: str) -> None:
    assert read_reply(status, content) == (None, reason)
