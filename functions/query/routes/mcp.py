"""The Model Context Protocol over HTTP.

Each POST carries one message; the reply is JSON, or an event stream if progress is reported.
"""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag.errors import ClientGone
from rag.http.requests import OTHER_SITE, is_from_another_site
from routes.call import HEADERS, Call, json_response
from routes.gateway import Response, text_response
from routes.streams import EVENT_STREAM, server_sent_event

if TYPE_CHECKING:
    from rag.mcp.server import Notify


def post_message(call: Call) -> Response:
    """Answer one message."""
    from rag.mcp.server import build_server  # late: its schemas are made for the first MCP client
    from rag.wiring.application import Library

    if (refusal := _refuse(call)) is not None:
        return refusal
    text = call.json_text()
    notify = _notifier(call)
    server = build_server(
        Library(call.service, call.answer),
        profile=call.service.settings.profile,
        describe_error=lambda error: call.report(error).sentence,
        notify=notify,
    )
    reply = server.respond(text, call.event.headers)
    if notify and call.stream and call.stream.opened:
        with suppress(ClientGone):
            notify(reply.message or {})
        return text_response(HTTPStatus.OK, EVENT_STREAM, "", HEADERS)
    if reply.message is None:
        return text_response(reply.status, "application/json", "", HEADERS)
    return json_response(reply.status, reply.message)


def _notifier(call: Call) -> Notify | None:
    """Return a function that sends a message: the first begins an event stream, which the reply ends."""
    stream = call.stream
    if stream is None or EVENT_STREAM not in call.header("accept").lower():
        return None

    def notify(message: dict[str, Any]) -> None:
        if not stream.opened:
            headers = {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no", **HEADERS, **call.cors_headers}
            stream.open(HTTPStatus.OK, headers)
        stream.write(server_sent_event(message, "message"))

    return notify


def _refuse(call: Call) -> Response | None:
    """Return a refusal for a page of another site, and for a client that accepts no JSON; None for others."""
    if is_from_another_site(host=call.header("host"), origin=call.header("origin")):
        return json_response(HTTPStatus.FORBIDDEN, {"error": OTHER_SITE, "code": "forbidden"})
    accepted = {kind.partition(";")[0].strip().lower() for kind in call.header("accept").split(",")}
    if not accepted & {"", "application/json", "application/*", "*/*"}:
        body = {"error": "Accept must include application/json", "code": "not_acceptable"}
        return json_response(HTTPStatus.NOT_ACCEPTABLE, body)
    return None
