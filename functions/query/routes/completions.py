"""The routes that OpenAI's clients call: chat completions, plain and streamed, and the models."""

from __future__ import annotations

import secrets
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag.http.chat_completions import Chunks, completion, parse_chat, side_completion
from rag.http.openai_errors import error_body, model_body
from rag.http.openai_requests import model_named, models
from rag.http.replies import CHAT
from rag.http.side_tasks import HEADER, NOTHING, is_side_task
from rag.values.request import Delta
from routes.call import Call, Response, json_response
from routes.failures import Failure
from routes.streams import Events, answer_in_events, event
from telemetry import observe

if TYPE_CHECKING:
    from rag.values.answer import Answer

PROTOCOL = "openai"
MAX_BODY_BYTES = 1024 * 1024
"""Programs send the whole conversation each time; what is too old in it is left out."""
DONE = "[DONE]"


def post_completion(call: Call) -> Response:
    """Answer the last message of a conversation."""
    text = call.json_text(limit=MAX_BODY_BYTES)
    chat = parse_chat(text, profile=call.service.settings.profile, page=call.page())
    if is_side_task(chat, call.header(HEADER)):
        return json_response(HTTPStatus.OK, side_completion(NOTHING, chat, secrets.token_urlsafe(16)))
    if not chat.stream:
        answer = call.service.pipeline.run(chat.question, deadline=call.deadline)
        observe(answer, protocol=PROTOCOL)
        return json_response(HTTPStatus.OK, completion(answer, chat))
    chunks = Chunks(chat, f"chatcmpl-{secrets.token_urlsafe(16)}", int(time.time()))

    def end(answer: Answer, said: str) -> bytes:
        return b"".join([*(event(chunk) for chunk in chunks.end(answer, said)), event(DONE)])

    events = Events(
        begin=event(chunks.begin()),
        told=lambda told: event(chunks.text(told.text)) if isinstance(told, Delta) else b"",
        end=end,
        failure=lambda failure: event(told(failure)),
        refusal=lambda failure: json_response(failure.status, told(failure), **failure.headers),
    )
    return answer_in_events(call, lambda: chat.question, events, protocol=PROTOCOL, wording=CHAT)


def get_models(call: Call) -> Response:
    """The models that there are."""
    names = models(call.service.settings.profile)
    return json_response(HTTPStatus.OK, {"object": "list", "data": [model_body(name) for name in names]})


def get_model(call: Call, model: str) -> Response:
    """The model that answers to this name; to any but those listed, the profile does, as in what asks."""
    return json_response(HTTPStatus.OK, model_body(model_named(model, call.service.settings.profile)))


def told(failure: Failure) -> dict[str, Any]:
    """What goes wrong, in OpenAI's shape."""
    return error_body(failure.sentence, failure.code, failure.status, param=failure.param, asked="messages")
