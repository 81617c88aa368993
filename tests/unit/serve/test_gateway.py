"""API Gateway's part of the local server: events from requests, HTTP from responses."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.gateway import MalformedResponse, http_response, rest_event

AT = datetime(2026, 11, 20, 9, 58, 42, 250_000, tzinfo=UTC)


def event(body: bytes = b"", **environ: str) -> dict[str, Any]:
    request = {"REQUEST_METHOD": "POST", "PATH_INFO": "/api/query", "SERVER_PROTOCOL": "HTTP/1.1", **environ}
    return rest_event(request, body, request_id="r-1", at=AT)


def test_the_event_carries_the_request_as_api_gateway_would() -> None:
    made = event(
        b'{"query":"na\xc3\xafve"}',
        QUERY_STRING="a=1&b=&a=2%20x",
        CONTENT_TYPE="application/json",
        CONTENT_LENGTH="17",
        HTTP_HOST="localhost:3000",
        HTTP_USER_AGENT="curl/8",
        HTTP_X_FORWARDED_FOR="10.0.0.1",
        REMOTE_ADDR="127.0.0.9",
    )

    headers = {"Content-Type": "application/json", "Content-Length": "17", "Host": "localhost:3000"}
    headers |= {"User-Agent": "curl/8", "X-Forwarded-For": "10.0.0.1"}
    context = made.pop("requestContext")
    assert made == {
        "resource": "/{proxy+}",
        "path": "/api/query",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {"a": "2 x", "b": ""},
        "multiValueQueryStringParameters": {"a": ["1", "2 x"], "b": [""]},
        "pathParameters": {"proxy": "api/query"},
        "stageVariables": None,
        "body": '{"query":"naïve"}',
        "isBase64Encoded": False,
    }
    told = {name: context[name] for name in ("requestId", "stage", "path", "httpMethod", "protocol", "domainName")}
    assert list(told.values()) == ["r-1", "local", "/api/query", "POST", "HTTP/1.1", "localhost:3000"]
    assert (context["requestTime"], context["requestTimeEpoch"]) == ("20/Nov/2026:09:58:42 +0000", 1795168722250)
    assert (context["identity"]["sourceIp"], context["identity"]["userAgent"]) == ("127.0.0.9", "curl/8")


def test_what_is_absent_is_null_as_in_api_gateways_events_and_a_path_is_utf8() -> None:
    made = event(REQUEST_METHOD="GET", PATH_INFO="")
    assert (made["path"], made["body"], made["isBase64Encoded"]) == ("/", None, False)
    assert (made["queryStringParameters"], made["multiValueQueryStringParameters"]) == (None, None)
    assert event(PATH_INFO="/caf\xc3\xa9")["path"] == "/café", "which WSGI dresses up as Latin-1"


@given(st.binary(min_size=1))
def test_every_body_can_be_had_back_from_the_event(body: bytes) -> None:
    made = event(body)
    back = base64.b64decode(made["body"]) if made["isBase64Encoded"] else made["body"].encode()
    assert back == body


def test_a_response_becomes_status_headers_and_bytes() -> None:
    response = http_response(
        {
            "statusCode": 404,
            "headers": {"Content-Type": "text/plain", "X-One": "1", "Set-Cookie": "lost", "Content-Length": "999"},
            "multiValueHeaders": {"set-cookie": ["a=1", "b=2"]},
            "body": "naïve",
        },
        request_id="r-1",
    )

    assert response.status == "404 Not Found"
    assert response.body == "naïve".encode()
    assert response.headers == (
        ("Content-Type", "text/plain"),
        ("X-One", "1"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("Content-Length", "6"),
        ("x-amzn-RequestId", "r-1"),
    )


def test_a_response_may_be_base64_and_is_json_unless_it_says_otherwise() -> None:
    response = http_response({"statusCode": "200", "body": "/wA=", "isBase64Encoded": True}, request_id="r-1")
    assert (response.status, response.body) == ("200 OK", b"\xff\x00")
    assert ("Content-Type", "application/json") in response.headers


@pytest.mark.parametrize(
    "result",
    [
        *(None, {}, {"statusCode": "many"}, {"statusCode": 200, "body": {"not": "text"}}),
        {"statusCode": 200, "body": "no base64!", "isBase64Encoded": True},
        {"statusCode": 200, "headers": {"X-Split": "a\r\nSet-Cookie: b"}},
    ],
)
def test_what_api_gateway_would_not_pass_on_is_refused(result: object) -> None:
    with pytest.raises(MalformedResponse):
        http_response(result, request_id="r-1")
