"""The Model Context Protocol over HTTP: one POST a message, JSON back."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from rag.http.sites import OTHER_SITE, is_from_another_site
from rag.values.answer import Answer, Hit, Question
from routes.call import HEADERS, Call, Response, json_response
from routes.failures import explain
from telemetry import observe, observe_error

if TYPE_CHECKING:
    from knowledge.search.passage import ChunkView

PROTOCOL = "mcp"


@dataclass(frozen=True, slots=True)
class _Asked:
    """The service as one request asks it."""

    call: Call

    def ask(self, question: Question) -> Answer:
        """The answer, counted."""
        answer = self.call.service.pipeline.run(question, deadline=self.call.deadline)
        observe(answer, protocol=PROTOCOL)
        return answer

    def search(self, text: str, *, k: int) -> tuple[Hit, ...]:
        """What retrieval finds."""
        return self.call.service.search(text, k=k)

    def chunk(self, chunk_id: str) -> ChunkView:
        """A chunk."""
        return self.call.service.chunk(chunk_id)


def post_message(call: Call) -> Response:
    """Answer one message."""
    from rag.mcp.tools import server  # late: its schemas are made when somebody speaks MCP

    if (refusal := _refusal(call)) is not None:
        return refusal
    text = call.json_text()
    headers = {name.lower(): value for name, value in call.event.headers.items()}
    reply = server(_Asked(call), profile=call.service.settings.profile, tell=_tell).respond(text, headers)
    if reply.message is None:
        return Response(int(reply.status), "application/json", "", headers=HEADERS)
    return json_response(reply.status, reply.message)


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
