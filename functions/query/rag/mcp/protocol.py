"""The Model Context Protocol's messages: revision 2026-07-28, and 2025-11-25 with its handshake. Stateless in both.

By hand against their schemas (modelcontextprotocol.io): the official SDK would add 20 MB to the layer and a second to
the first call (docs/adr/0021). A request of 2026-07-28 says who asks and in which version in its own ``_meta``, and
over HTTP repeats in headers what a gateway may want to know; one of 2025-11-25 follows an ``initialize``, of which
nothing has to be remembered here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from rag.mcp.headers import decoded

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18")
"""Revisions with a handshake, the newest first: it is offered to who asks for another."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32603, -32020, -32022
STATUS = {
    PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
}

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
"""The parameter that the header ``Mcp-Name`` repeats, by method."""

CACHED_MS = 300_000
CACHED = frozenset(
    {"server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list"}
)
"""Methods whose results say how long they hold."""

type Method = Callable[[Mapping[str, Any]], dict[str, Any]]
type Params = Mapping[str, Any]


class McpError(Exception):
    """A request that gets an error in place of a result; the message is for the caller."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: a message, or None for nothing; ``status`` is that of HTTP."""

    message: dict[str, Any] | None
    status: HTTPStatus = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class Server:
    """What a server offers: its ``methods`` beside the protocol's own, and how it introduces itself."""

    methods: Mapping[str, Method]
    info: Mapping[str, str]
    instructions: Callable[[], str]

    def respond(self, text: str, headers: Mapping[str, str] | None = None) -> Reply:
        """The reply to the message ``text``; ``headers`` are HTTP's, in lower case, None where there are none.

        A notification, and an answer to something that was never asked, get no message.
        """
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return _refused(None, McpError(PARSE_ERROR, "The message is not JSON"))
        if isinstance(message, dict) and "id" not in message and isinstance(message.get("method"), str):
            return Reply(None, HTTPStatus.ACCEPTED)
        if isinstance(message, dict) and "method" not in message and {"result", "error"} & message.keys():
            return Reply(None, HTTPStatus.ACCEPTED)
        if not _is_request(message):
            wanted = 'a single JSON-RPC request: {"jsonrpc": "2.0", "id": 1, "method": "..."}'
            return _refused(None, McpError(INVALID_REQUEST, f"The message must be {wanted}"))
        modern = _is_modern(message, headers)
        try:
            if modern:
                _check_envelope(message, headers)
            result = self._call(message["method"], message.get("params") or {}, modern=modern)
        except McpError as error:
            return _refused(message["id"], error, modern=modern)
        return Reply({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _call(self, name: str, params: Params, *, modern: bool) -> dict[str, Any]:
        own: Mapping[str, Method] = (
            {"server/discover": self._discover} if modern else {"initialize": self._initialize, "ping": lambda _: {}}
        )
        method = own.get(name) or self.methods.get(name)
        if method is None:
            raise McpError(METHOD_NOT_FOUND, f"There is no method {name[:100]!r}")
        result = method(params)
        if modern:
            held = {"ttlMs": CACHED_MS, "cacheScope": "private"} if name in CACHED else {}
            result = {"resultType": "complete", **held, **result, "_meta": {SERVER_KEY: dict(self.info)}}
        return result

    def _discover(self, params: Params) -> dict[str, Any]:
        return {"supportedVersions": [MODERN], "capabilities": self._capabilities, "instructions": self.instructions()}

    def _initialize(self, params: Params) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise McpError(INVALID_PARAMS, "protocolVersion must be text")
        return {
            "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[0],
            "capabilities": self._capabilities,
            "serverInfo": dict(self.info),
            "instructions": self.instructions(),
        }

    @property
    def _capabilities(self) -> dict[str, Any]:
        return {name: {} for name in ("tools", "resources", "prompts") if f"{name}/list" in self.methods}


def _is_request(message: object) -> bool:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    number = message.get("id")
    identified = isinstance(number, str) or (isinstance(number, int) and not isinstance(number, bool))
    return identified and isinstance(message.get("method"), str) and isinstance(message.get("params", {}), dict)


def _is_modern(message: Mapping[str, Any], headers: Mapping[str, str] | None) -> bool:
    meta = message.get("params", {}).get("_meta")
    version = (headers or {}).get(VERSION_HEADER)
    return (isinstance(meta, dict) and VERSION_KEY in meta) or (version is not None and version not in HANDSHAKE)


def _check_envelope(message: Mapping[str, Any], headers: Mapping[str, str] | None) -> None:
    """What 2026-07-28 asks of each request; the first thing that is wrong is raised."""
    params = message.get("params", {})
    meta = params.get("_meta")
    version = (headers or {}).get(VERSION_HEADER)
    if version is not None and version not in (MODERN, *HANDSHAKE):
        _unsupported(version)
    if not isinstance(meta, dict) or not {VERSION_KEY, CAPABILITIES_KEY} <= meta.keys():
        raise McpError(INVALID_PARAMS, f"params._meta must hold {VERSION_KEY} and {CAPABILITIES_KEY}")
    stated = meta[VERSION_KEY]
    if headers is not None:
        name = params.get(NAMED_BY.get(message["method"], ""))
        for header, value in ((VERSION_HEADER, stated), (METHOD_HEADER, message["method"]), (NAME_HEADER, name)):
            if value is not None and decoded(headers.get(header)) != value:
                raise McpError(HEADER_MISMATCH, f"The header {header} must repeat what the message says")
    if not isinstance(stated, str):
        raise McpError(INVALID_PARAMS, f"{VERSION_KEY} must be text")
    if stated != MODERN:
        _unsupported(stated)


def _unsupported(requested: str) -> None:
    data = {"supported": [MODERN], "requested": requested[:100]}
    raise McpError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _refused(number: object, error: McpError, *, modern: bool = True) -> Reply:
    """An error; before 2026-07-28 only a message that cannot be read had a status of its own."""
    body: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    unread = error.code in (PARSE_ERROR, INVALID_REQUEST)
    status = STATUS.get(error.code, HTTPStatus.OK) if modern or unread else HTTPStatus.OK
    return Reply({"jsonrpc": "2.0", "id": number, "error": body}, status)
