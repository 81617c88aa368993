"""OpenAI's chat completions: requests read as questions with a conversation, answers as completions or chunks.

Format: platform.openai.com/docs/api-reference/chat. Further fields hold the service's own results.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from rag.http.openai_requests import (
    ChatMessage,
    ParsedRequest,
    RefusedParameters,
    extra_fields,
    model_named,
    read_conversation,
    read_request,
    sources_below,
    text_after_stream,
    url_citations,
)
from rag.values.answer import Answer

NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
EXAMPLE = '{"messages": [{"role": "user", "content": "..."}]}'
SIDE_TASK_HEADER = "x-openwebui-task"
SIDE_TASK_ANSWER = "{}"
"""An object without a title, tags or questions: Open WebUI then takes the user's words for a title."""
_REFUSED: RefusedParameters = {
    "n": lambda value: value not in (None, 1),
    "logprobs": bool,
    "top_logprobs": bool,
    "response_format": lambda value: value not in (None, {"type": "text"}),
    "tool_choice": lambda value: value not in (None, "auto", "none"),
    "function_call": lambda value: value not in (None, "auto", "none"),
    "modalities": lambda value: value not in (None, ["text"]),
}


class StreamOptions(BaseModel):
    """What a stream has beside the text."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A chat completion to make. Other fields (temperature, tools, max_tokens ...) are accepted and ignored."""

    model_config = ConfigDict(strict=True)

    messages: Annotated[
        list[ChatMessage],
        Field(
            min_length=1,
            description="a list of messages, each with a role and a content of text",
            examples=[[{"role": "user", "content": "What does it cost to change an ocean booking?"}]],
        ),
    ]
    model: Annotated[str | None, Field(description="the name of a model, as GET /v1/models lists them")] = None
    stream: Annotated[bool | None, Field(description="true or false: whether the answer is streamed")] = None
    stream_options: Annotated[StreamOptions | None, Field(description='an object such as {"include_usage": true}')] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedChat(ParsedRequest):
    """A request for a chat completion."""

    include_usage: bool = False


def parse_chat(body: str, *, profile: str, page: str = "") -> ParsedChat:
    """Return the request in ``body``; see ``read_conversation`` for its question.

    Raises:
        InvalidJson, InvalidParameter, UnsupportedParameter: as ``read_request`` and ``read_conversation``.
    """
    request = read_request(ChatRequest, body, refused=_REFUSED, example=EXAMPLE)
    options = request.stream_options or StreamOptions()
    return ParsedChat(
        question=read_conversation(request.messages, param="messages"),
        model=model_named(request.model, profile),
        stream=request.stream is True,
        include_usage=options.include_usage is True,
        page=page,
    )


def is_side_task(chat: ParsedChat, task: str) -> bool:
    """Return whether Open WebUI asks for something beside its user's question: a title, tags, follow-up questions.

    ``task`` is the value of ``SIDE_TASK_HEADER``, ``""`` if absent; a connection that is set up for it sends the task's
    name there (configured as ``{{TASK}}``). Otherwise the prompt has the form of its templates: one message that begins
    with "### Task:" and holds a <chat_history>. Its template for a question with documents holds none.
    """
    if chat.stream or chat.question.turns:
        return False
    text = chat.question.text
    return task.strip() not in {"", "{{TASK}}"} or (text.startswith("### Task:") and "<chat_history>" in text)


def completion_body(answer: Answer, chat: ParsedChat) -> dict[str, Any]:
    """Return the body of a plain reply."""
    text, annotations = answer.text + sources_below(answer, chat), url_citations(answer, page=chat.page)
    body = _completion(answer.response_id, chat, text, annotations, _finish_reason(answer))
    return {**body, "usage": _usage(answer), **extra_fields(answer)}


def side_task_body(chat: ParsedChat, key: str) -> dict[str, Any]:
    """Return the body of a reply to a side task; ``key`` ends its id."""
    return {**_completion(key, chat, SIDE_TASK_ANSWER, [], "stop"), "usage": NO_USAGE}


@dataclass(frozen=True, slots=True)
class ChatChunks:
    """The chunks of one streamed completion; ``id`` is theirs, the answer's own id comes with the last one."""

    chat: ParsedChat
    id: str
    created: int = field(default_factory=lambda: int(time.time()))

    def first(self) -> dict[str, Any]:
        """Return the chunk that names the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, text: str) -> dict[str, Any]:
        """Return a chunk of text."""
        return self._chunk({"content": text})

    def last(self, answer: Answer, streamed: str) -> list[dict[str, Any]]:
        """Return the chunks after the text ``streamed``: ``text_after_stream``, annotations, the end, the usage.

        The end has a plain reply's fields. If the checked answer is another text than was streamed, the end holds it,
        and the positions of the annotations count in that.
        """
        chunks = [self.text(rest)] if (rest := text_after_stream(answer, self.chat, streamed)) else []
        if annotations := url_citations(answer, page=self.chat.page):
            chunks.append(self._chunk({"annotations": annotations}))
        checked = {} if answer.text == streamed else {"answer": answer.text}
        chunks.append({**self._chunk({}, finish_reason=_finish_reason(answer)), **extra_fields(answer), **checked})
        if self.chat.include_usage:
            chunks.append({**self._chunk({}), "choices": [], "usage": _usage(answer)})
        return chunks

    def _chunk(self, delta: Mapping[str, Any], *, finish_reason: str | None = None) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.chat.model,
            "choices": [{"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}],
        }


def _completion(
    key: str, chat: ParsedChat, text: str, annotations: list[dict[str, Any]], finish_reason: str
) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": annotations}
    return {
        "id": f"chatcmpl-{key}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": chat.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
    }


def _finish_reason(answer: Answer) -> str:
    reason = answer.completion.finish_reason if answer.completion else None
    return "length" if reason == "length" else "stop"


def _usage(answer: Answer) -> dict[str, int]:
    usage = answer.completion.usage if answer.completion else None
    return NO_USAGE if usage is None else {name: getattr(usage, name) for name in NO_USAGE}
