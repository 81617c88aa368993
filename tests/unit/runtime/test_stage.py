"""In which format the function answers: as the stage reads it that sent the event, under either runtime."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from routes.gateway import PRELUDE_END, reads_streams, since_received_s, streamed_whole
from runtime.api import PendingInvocation
from runtime.loop import serve

RESULT = {"statusCode": 202, "headers": {"A": "b"}, "multiValueHeaders": {}, "body": "é", "isBase64Encoded": False}


class Api:
    """What the loop sends to the Runtime API."""

    def __init__(self) -> None:
        self.result: Any = None
        self.sent: list[Any] = []

    def respond(self, request_id: str) -> Any:
        sends = {"open_with": self.sent.append, "write": self.sent.append}
        return SimpleNamespace(opened=False, end=lambda error=None: None, **sends)

    def succeed(self, request_id: str, result: object) -> None:
        self.result = result


def event(variables: object) -> dict[str, Any]:
    return {"httpMethod": "GET", "path": "/", "requestContext": {}, "stageVariables": variables}


OTHERS: tuple[object, ...] = (None, {}, {"streaming": "off"}, "on")
STREAMED = ({"streaming": "on"}, None, [{"statusCode": 202, "headers": {"A": "b"}}, "é".encode()])


@pytest.mark.parametrize(("variables", "result", "sent"), [*((each, RESULT, []) for each in OTHERS), STREAMED])
def test_our_runtime_streams_to_a_stage_that_reads_streams_and_else_answers_in_json(
    variables: object, result: object, sent: list[Any]
) -> None:
    api = Api()
    serve(api, lambda told, context: RESULT, PendingInvocation("1", event(variables), {}))  # type: ignore[arg-type]
    assert (api.result, api.sent, reads_streams(event(variables))) == (result, sent, bool(sent))


def test_lambdas_runtime_gets_the_same_bytes_in_one_piece() -> None:
    head, _, body = streamed_whole(RESULT).partition(PRELUDE_END)
    assert (json.loads(head), body) == ({"statusCode": 202, "headers": {"A": "b"}}, "é".encode())
    bits = {**RESULT, "body": "AAE=", "isBase64Encoded": True}
    assert streamed_whole(bits).partition(PRELUDE_END)[2] == b"\0\1"


@pytest.mark.parametrize(
    ("told", "waited_s"),
    [
        ({"requestTimeEpoch": 1_790_000_000_000}, 2.5),
        ({"requestTimeEpoch": 1_790_000_009_000}, 0.0),  # a clock that is ahead
        ({"requestTimeEpoch": 1_789_999_000_000}, 0.0),  # an event that was kept
        ({"requestTimeEpoch": "soon"}, 0.0),
        ({}, 0.0),  # an event by hand
        (None, 0.0),
    ],
)
def test_a_caller_has_waited_since_api_gateway_got_the_request(told: object, waited_s: float) -> None:
    assert since_received_s({"requestContext": told}, now=1_790_000_002.5) == waited_s
