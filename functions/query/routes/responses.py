"""The route that OpenAI's newer clients call: responses, plain and streamed."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag.http.openai_errors import error_body
from rag.http.replies import CHAT
from rag.values.request import Delta
from routes.call import Call, Response, json_response
from routes.completions import MAX_BODY_BYTES, PROTOCOL
from routes.failures import Failure
from routes.streams import Events, answer_in_events, event
from telemetry import observe

if TYPE_CHECKING:
    from rag.values.answer import Answer


def post_response(call: Call) -> Response:
    """Answer the last message of a conversation."""
    from rag.http.openai_responses import ResponseForm, parse_response_request  # late: who speaks this pays for it

    text = call.json_text(limit=MAX_BODY_BYTES)
    asked = parse_response_request(text, profile=call.service.settings.profile, page=call.page())
    if not asked.stream:
        answer = call.service.pipeline.run(asked.question, deadline=call.deadline)
        observe(answer, protocol=PROTOCOL)
        return json_response(HTTPStatus.OK, ResponseForm(asked=asked, key=answer.response_id).whole(answer))
    form = ResponseForm(asked=asked, key=secrets.token_urlsafe(16))

    def end(answer: Answer, streamed: str) -> bytes:
        return _worded(form.end(answer, streamed))

    events = Events(
        begin=_worded(form.begin()),
        told=lambda told: _worded([form.text(told.text)]) if isinstance(told, Delta) else b"",
        end=end,
        failure=lambda failure: _worded([form.failed(failure.sentence)]),
        refusal=lambda failure: json_response(failure.status, told(failure), **failure.headers),
    )
    return answer_in_events(call, lambda: asked.question, events, protocol=PROTOCOL, wording=CHAT)


def _worded(events: list[dict[str, Any]]) -> bytes:
    return b"".join(event(one, one["type"]) for one in events)


def told(failure: Failure) -> dict[str, Any]:
    """What goes wrong, in OpenAI's shape."""
    return error_body(failure.sentence, failure.code, failure.status, param=failure.param, asked="input")
