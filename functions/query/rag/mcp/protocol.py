"""The Model Context Protocol's messages, stateless: revision 2026-07-28, and 2025-11-25 with its handshake.

By hand against their schemas (modelcontextprotocol.io): the official SDK would add 20 MB to the layer and a second to
the first call (docs/adr/0021). A request of 2026-07-28 names its client and its version in its own ``_meta``, and
over HTTP repeats fields in headers for gateways; one of 2025-11-25 follows an ``initialize``, which needs no memory
here.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18")
"""Revisions with a handshake, the newest first: the server offers it to a client of another revision."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32603, -32020, -32022
STATUS = {METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND, INTERNAL_ERROR: HTTPStatus.OK}
"""HTTP's status of the error codes that are not 400."""

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
"""Methods whose results name a time to live."""
_BASE64_HEADER = re.compile(r"=\?base64\?(.*)\?=")

type Method = Callable[[Mapping[str, Any]], dict[str, Any]]
type Params = Mapping[str, Any]


class McpError(Exception):
    """An error in place of a result; the message is for the caller."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(frozen=True, slots=True)
class McpReply:
    """The message of a reply, or None for an empty one; ``status`` is HTTP's."""

    message: dict[str, Any] | None
    status: HTTPStatus = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server: ``methods`` beside the protocol's own, its name and version, and its ``instructions`` for models."""

    methods: Mapping[str, Method]
    info: Mapping[str, str]
    instructions: Callable[[], str]

    def respond(self, text: str, headers: Mapping[str, str] | None = None) -> McpReply:
        """Return the reply to the message ``text``; ``headers`` are HTTP's, in lower case, None for other transports.

        A notification, and a result that this server never asked for, get an empty reply.
        """
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return _error_reply(None, McpError(PARSE_ERROR, "The message is not JSON"))
        if isinstance(message, dict) and "id" not in message and isinstance(message.get("method"), str):
            return McpReply(None, HTTPStatus.ACCEPTED)
        if isinstance(message, dict) and "method" not in message and {"result", "error"} & message.keys():
            return McpReply(None, HTTPStatus.ACCEPTED)
        if not _is_request(message):
            wanted = 'a single JSON-RPC request: {"jsonrpc": "2.0", "id": 1, "method": "..."}'
            return _error_reply(None, McpError(INVALID_REQUEST, f"The message must be {wanted}"))
        modern = _is_modern(message, headers)
        try:
            if modern:
                _check_envelope(message, headers)
            result = self._call(message["method"], message.get("params") or {}, modern=modern)
        except McpError as error:
            return _error_reply(message["id"], error, modern=modern)
        return McpReply({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _call(self, name: str, params: Params, *, modern: bool) -> dict[str, Any]:
        own: Mapping[str, Method] = (
            {"server/discover": self._discover} if modern else {"initialize": self._initialize, "ping": lambda _: {}}
        )
        method = own.get(name) or self.methods.get(name)
        if method is None:
            raise McpError(METHOD_NOT_FOUND, f"There is no method {name[:100]!r}")
        result = method(params)
        if modern:
            lifetime = {"ttlMs": CACHED_MS, "cacheScope": "private"} if name in CACHED else {}
            result = {"resultType": "complete", **lifetime, **result, "_meta": {SERVER_KEY: dict(self.info)}}
        return result

    def _discover(self, params: Params) -> dict[str, Any]:
        return {"supportedVersions": [MODERN], "capabilities": self._capabilities, "instructions": self.instructions()}

    def _initialize(self, params: Params) -> dict[str, Any]:
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise McpError(INVALID_PARAMS, "protocolVersion must be text")
        return {
            "protocolVersion": requested if requested in HANDSHAKE else HANDSHAKE[0],
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
    """Raise McpError for the first rule of 2026-07-28 that a request breaks."""
    params = message.get("params", {})
    meta = params.get("_meta")
    version = (headers or {}).get(VERSION_HEADER)
    if version is not None and version not in (MODERN, *HANDSHAKE):
        _raise_unsupported(version)
    if not isinstance(meta, dict) or not {VERSION_KEY, CAPABILITIES_KEY} <= meta.keys():
        raise McpError(INVALID_PARAMS, f"params._meta must hold {VERSION_KEY} and {CAPABILITIES_KEY}")
    stated = meta[VERSION_KEY]
    if headers is not None:
        name = params.get(NAMED_BY.get(message["method"], ""))
        for header, value in ((VERSION_HEADER, stated), (METHOD_HEADER, message["method"]), (NAME_HEADER, name)):
            if value is not None and _decode_header(headers.get(header)) != value:
                raise McpError(HEADER_MISMATCH, f"The header {header} must repeat what the message says")
    if not isinstance(stated, str):
        raise McpError(INVALID_PARAMS, f"{VERSION_KEY} must be text")
    if stated != MODERN:
        _raise_unsupported(stated)


def _raise_unsupported(requested: str) -> None:
    data = {"supported": [MODERN], "requested": requested[:100]}
    raise McpError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _error_reply(number: object, error: McpError, *, modern: bool = True) -> McpReply:
    """Return an error; before 2026-07-28 every error but an unreadable message had the status 200."""
    body: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    unread = error.code in (PARSE_ERROR, INVALID_REQUEST)
    status = STATUS.get(error.code, HTTPStatus.BAD_REQUEST) if modern or unread else HTTPStatus.OK
    return McpReply({"jsonrpc": "2.0", "id": number, "error": body}, status)


def _decode_header(value: str | None) -> str | None:
    """Return a header's text, which may be in the form ``=?base64?...?=``; None if absent or unreadable."""
    encoded = _BASE64_HEADER.fullmatch(value) if value is not None else None
    if encoded is None:
        return value
    try:
        raw = base64.b64decode(encoded[1], validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == encoded[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
