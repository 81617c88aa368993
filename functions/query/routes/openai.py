"""The routes that OpenAI's clients call: chat completions and responses, plain and streamed, and the models."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

from rag.http import chat_completions
from rag.values.request import Delta
from routes.call import Call, json_response
from routes.gateway import Response
from routes.streams import EventFormat, answer_in_events, server_sent_event

MAX_BODY_BYTES = 1024 * 1024
"""Programs send the whole conversation each time; its old turns are dropped."""


def post_completion(call: Call) -> Response:
    """Answer the last message of a conversation."""
    text = call.json_text(limit=MAX_BODY_BYTES)
    chat = chat_completions.parse_chat(text, profile=call.service.settings.profile, page=call.page())
    if chat_completions.is_side_task(chat, call.header(chat_completions.SIDE_TASK_HEADER)):
        return json_response(HTTPStatus.OK, chat_completions.side_task_body(chat, secrets.token_urlsafe(16)))
    if not chat.stream:
        answer = call.answer(chat.question)
        return json_response(HTTPStatus.OK, chat_completions.completion_body(answer, chat))
    chunks = chat_completions.ChatChunks(chat, f"chatcmpl-{secrets.token_urlsafe(16)}")
    events = EventFormat(
        begin=server_sent_event(chunks.first()),
        encode=lambda event: server_sent_event(chunks.text(event.text)) if isinstance(event, Delta) else b"",
        end=lambda answer, streamed: b"".join(map(server_sent_event, [*chunks.last(answer, streamed), "[DONE]"])),
        failure=lambda failure: server_sent_event(failure.body),
    )
    return answer_in_events(call, chat.question, events)


def post_response(call: Call) -> Response:
    """Answer the last message of a conversation, in the form of a response."""
    from rag.http.openai_responses import ResponseBuilder, parse_response_request  # late: few clients need it

    text = call.json_text(limit=MAX_BODY_BYTES)
    request = parse_response_request(text, profile=call.service.settings.profile, page=call.page())
    if not request.stream:
        answer = call.answer(request.question)
        return json_response(HTTPStatus.OK, ResponseBuilder(request=request, key=answer.response_id).response(answer))
    builder = ResponseBuilder(request=request, key=secrets.token_urlsafe(16))

    def encode(events: list[dict[str, Any]]) -> bytes:
        return b"".join(server_sent_event(event, event["type"]) for event in events)

    events = EventFormat(
        begin=encode(builder.first_events()),
        encode=lambda event: encode([builder.text_event(event.text)]) if isinstance(event, Delta) else b"",
        end=lambda answer, streamed: encode(builder.last_events(answer, streamed)),
        failure=lambda failure: encode([builder.failure_event(failure.sentence)]),
    )
    return answer_in_events(call, request.question, events)


def get_models(call: Call) -> Response:
    """List the models."""
    names = chat_completions.models(call.service.settings.profile)
    data = [chat_completions.model_body(name) for name in names]
    return json_response(HTTPStatus.OK, {"object": "list", "data": data})


def get_model(call: Call, model: str) -> Response:
    """Describe the model of this name; an unknown name means the profile, as in a completion."""
    name = chat_completions.model_named(model, call.service.settings.profile)
    return json_response(HTTPStatus.OK, chat_completions.model_body(name))
