"""MCP's messages: both revisions, and whatever else somebody may send."""

import json
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.mcp.protocol import CAPABILITIES_KEY, MODERN, SERVER_KEY, VERSION_KEY, McpReply, McpServer

INFO = {"name": "test", "version": "1"}
META = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
SERVER = McpServer(
    {
        "tools/list": lambda params: {"tools": []},
        "tools/call": lambda params: {"content": [params["name"]]},
        "resources/read": lambda params: {"contents": []},
    },
    INFO,
    lambda: "Ask.",
)


def request(method: str, *, headers: dict[str, str] | None = None, **params: Any) -> McpReply:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return SERVER.respond(json.dumps(message), headers)


def result_of(reply: McpReply) -> dict[str, Any]:
    assert reply.message is not None
    assert (reply.status, reply.message["jsonrpc"], reply.message["id"]) == (200, "2.0", 7)
    result: dict[str, Any] = reply.message["result"]
    return result


def modern(method: str, *, headers: dict[str, str] | None = None, **params: Any) -> McpReply:
    name = params.get("name") or params.get("uri")
    named = {"mcp-protocol-version": MODERN, "mcp-method": method, **({"mcp-name": name} if name else {})}
    return request(method, headers={**named, **(headers or {})}, _meta=META, **params)


def code_of(reply: McpReply) -> tuple[int, int]:
    assert reply.message is not None
    return int(reply.status), reply.message["error"]["code"]


def test_a_modern_request_stands_alone_over_stdio_without_headers() -> None:
    complete = {"resultType": "complete", "_meta": {SERVER_KEY: INFO}}
    for reply in (modern("tools/list"), request("tools/list", _meta=META)):
        assert result_of(reply) == {**complete, "ttlMs": 300_000, "cacheScope": "private", "tools": []}
    assert result_of(modern("tools/call", name="ask")) == {**complete, "content": ["ask"]}


def test_discovery_says_what_there_is() -> None:
    told = result_of(modern("server/discover"))
    assert told["supportedVersions"] == [MODERN]
    assert (told["capabilities"], told["instructions"]) == ({"tools": {}}, "Ask.")


@pytest.mark.parametrize(("asked", "given"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")])
def test_the_handshake_offers_a_revision_that_is_spoken(asked: str, given: str) -> None:
    reply = request("initialize", protocolVersion=asked, capabilities={}, clientInfo={})
    told = {"protocolVersion": given, "serverInfo": INFO, "capabilities": {"tools": {}}, "instructions": "Ask."}
    assert result_of(reply) == told


def test_before_the_present_revision_results_are_bare() -> None:
    assert result_of(request("tools/list", headers={"mcp-protocol-version": "2025-11-25"})) == {"tools": []}
    assert result_of(request("ping")) == {}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"mcp-method": "tools/list"}, (400, -32020)),
        ({"mcp-name": "other"}, (400, -32020)),
        ({"mcp-protocol-version": "2025-11-25"}, (400, -32020)),
        ({"mcp-protocol-version": "2099-01-01"}, (400, -32022)),
        ({"mcp-name": "=?base64?!!?="}, (400, -32020)),
    ],
)
def test_headers_repeat_the_message_and_may_carry_what_headers_cannot(
    headers: dict[str, str], expected: tuple[int, int]
) -> None:
    assert code_of(modern("tools/call", headers=headers, name="ask")) == expected
    encoded = {"mcp-name": "=?base64?Y2h1bms6Ly9pZF/DqQ==?="}
    assert modern("resources/read", headers=encoded, uri="chunk://id_é").status == 200


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("no/such", {"_meta": META}, (404, -32601)),
        ("no/such", {}, (200, -32601)),  # before it had no status of its own
        ("ping", {"_meta": META}, (404, -32601)),
        ("initialize", {}, (200, -32602)),
        ("tools/list", {"_meta": {VERSION_KEY: MODERN}}, (400, -32602)),
        ("tools/list", {"_meta": {VERSION_KEY: 7, CAPABILITIES_KEY: {}}}, (400, -32602)),
        ("tools/list", {"_meta": {VERSION_KEY: "1999", CAPABILITIES_KEY: {}}}, (400, -32022)),
    ],
)
def test_what_is_wrong_has_a_code(method: str, params: dict[str, Any], expected: tuple[int, int]) -> None:
    assert code_of(request(method, **params)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", (400, -32700)),
        ("[" * 100_000, (400, -32700)),
        ("[]", (400, -32600)),
        ('{"id": 1, "method": "ping"}', (400, -32600)),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', (400, -32600)),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', (400, -32600)),
    ],
)
def test_what_is_no_request_is_refused(text: str, expected: tuple[int, int]) -> None:
    assert code_of(SERVER.respond(text, {})) == expected


@pytest.mark.parametrize(
    "text", ['{"jsonrpc": "2.0", "method": "notifications/initialized"}', '{"jsonrpc": "2.0", "id": 1, "result": {}}']
)
def test_what_wants_no_reply_gets_none(text: str) -> None:
    assert SERVER.respond(text, {}) == McpReply(None, HTTPStatus.ACCEPTED)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result"])
VALUES = JSON | st.sampled_from(["2.0", "tools/list", "initialize", "server/discover", {"_meta": META}, {"_meta": {}}])


@given(st.dictionaries(KEYS, VALUES) | JSON, st.none() | st.just({}) | st.just({"mcp-protocol-version": MODERN}))
def test_any_json_gets_a_reply_or_none(message: Any, headers: dict[str, str] | None) -> None:
    reply = SERVER.respond(json.dumps(message), headers)
    if reply.message is None:
        assert reply.status == 202
    else:
        assert reply.message["jsonrpc"] == "2.0"
        assert len({"result", "error"} & reply.message.keys()) == 1
        json.dumps(reply.message)
