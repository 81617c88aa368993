"""The Model Context Protocol over HTTP: one POST a message, JSON back, in an event stream where progress is told."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag.errors import ClientGone
from rag.http.sites import OTHER_SITE, is_from_another_site
from routes.call import HEADERS, Call, Response, json_response
from routes.failures import explain
from routes.streams import EVENT_STREAM, event
from telemetry import observe, observe_error

if TYPE_CHECKING:
    from rag.mcp.progress import Notify
    from rag.values.answer import Answer
    from rag.values.question import Question
    from rag.values.request import Listen

PROTOCOL = "mcp"


def post_message(call: Call) -> Response:
    """Answer one message."""
    from rag.mcp.tools import server  # late: its schemas are made when somebody speaks MCP
    from rag.wiring.application import Library

    if (refusal := _refusal(call)) is not None:
        return refusal
    text = call.json_text()
    headers = {name.lower(): value for name, value in call.event.headers.items()}
    notify = _notifier(call)
    documents = Library(call.service, partial(_ask, call))
    offered = server(documents, profile=call.service.settings.profile, tell=_tell, notify=notify)
    reply = offered.respond(text, headers)
    if notify and call.stream and call.stream.opened:
        with suppress(ClientGone):
            notify(reply.message or {})
        return Response(int(HTTPStatus.OK), EVENT_STREAM, "", headers=HEADERS)
    if reply.message is None:
        return Response(int(reply.status), "application/json", "", headers=HEADERS)
    return json_response(reply.status, reply.message)


def _ask(call: Call, question: Question, listen: Listen | None) -> Answer:
    answer = call.service.pipeline.run(question, deadline=call.deadline, listen=listen)
    observe(answer, protocol=PROTOCOL)
    return answer


def _notifier(call: Call) -> Notify | None:
    """Sends messages as they come: the first one begins an event stream, which the reply ends."""
    stream = call.stream
    if stream is None or EVENT_STREAM not in call.header("accept").lower():
        return None

    def notify(message: dict[str, Any]) -> None:
        if not stream.opened:
            stream.open(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no", **HEADERS})
        stream.write(event(message, "message"))

    return notify


def _refusal(call: Call) -> Response | None:
    """Of a page of another site, whose browser would lend it this address; and of a client that takes no JSON."""
    if is_from_another_site(host=call.header("host"), origin=call.header("origin")):
        body = {"error": OTHER_SITE, "code": "forbidden"}
        return json_response(HTTPStatus.FORBIDDEN, body)
    accepted = {kind.partition(";")[0].strip().lower() for kind in call.header("accept").split(",")}
    if not accepted & {"", "application/json", "application/*", "*/*"}:
        body = {"error": "Accept must include application/json", "code": "not_acceptable"}
        return json_response(HTTPStatus.NOT_ACCEPTABLE, body)
    return None


def _tell(error: Exception) -> str:
    failure = explain(error)
    observe_error(error, code=failure.code, status=failure.status)
    return failure.sentence
