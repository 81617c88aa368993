"""OpenAI's chat completions: a request as a question with its conversation, an answer as a completion or its chunks.

Format: platform.openai.com/docs/api-reference/chat. What the service says beside it stands in further fields.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from rag.http.openai_requests import (
    Asked,
    ChatMessage,
    Refused,
    conversation,
    extras,
    model_named,
    read_request,
    sources_below,
    text_after_stream,
)
from rag.http.url_citations import url_citations
from rag.values.answer import Answer

NOTHING_USED = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
EXAMPLE = '{"messages": [{"role": "user", "content": "..."}]}'
_TEXT_ONLY = "a list of messages, each with a role and a content of text"
_REFUSED: Refused = {
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
            description=_TEXT_ONLY,
            examples=[[{"role": "user", "content": "What does it cost to change an ocean booking?"}]],
        ),
    ]
    model: Annotated[str | None, Field(description="the name of a model, as GET /v1/models lists them")] = None
    stream: Annotated[bool | None, Field(description="true or false: whether the answer is streamed")] = None
    stream_options: Annotated[StreamOptions | None, Field(description='an object such as {"include_usage": true}')] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat(Asked):
    """A completion that is asked for."""

    include_usage: bool = False


def parse_chat(body: str, *, profile: str, page: str = "") -> Chat:
    """The last message of the user is the question, what was said before it the conversation.

    Raises:
        InvalidJson, InvalidParameter, UnsupportedParameter: as ``read_request`` and ``conversation``.
    """
    request = read_request(ChatRequest, body, refused=_REFUSED, example=EXAMPLE)
    options = request.stream_options or StreamOptions()
    return Chat(
        question=conversation(request.messages, param="messages"),
        model=model_named(request.model, profile),
        stream=request.stream is True,
        include_usage=options.include_usage is True,
        page=page,
    )


def completion(answer: Answer, chat: Chat) -> dict[str, Any]:
    """The body of a plain reply."""
    text, cited = answer.text + sources_below(answer, chat), url_citations(answer, page=chat.page)
    body = _completion(answer.response_id, chat, text, cited, _finish_reason(answer))
    return {**body, "usage": _usage(answer), **extras(answer)}


def side_completion(text: str, chat: Chat, key: str) -> dict[str, Any]:
    """The body of a reply to what is no question to the documents."""
    return {**_completion(key, chat, text, [], "stop"), "usage": NOTHING_USED}


def _completion(key: str, chat: Chat, text: str, cited: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": cited}
    return {
        "id": f"chatcmpl-{key}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": chat.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
    }


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of one streamed completion; ``id`` is theirs, the answer's own comes with the last one."""

    chat: Chat
    id: str
    created: int

    def begin(self) -> dict[str, Any]:
        """Who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, text: str) -> dict[str, Any]:
        """Some text."""
        return self._chunk({"content": text})

    def end(self, answer: Answer, said: str) -> list[dict[str, Any]]:
        """What follows the streamed text: ``text_after_stream``, the end with a plain reply's fields, what was used.

        ``said`` is the text that was streamed; where the checked answer is another one, the end holds it, and the
        annotations count in that.
        """
        chunks = [self.text(rest)] if (rest := text_after_stream(answer, self.chat, said)) else []
        if cited := url_citations(answer, page=self.chat.page):
            chunks.append(self._chunk({"annotations": cited}))
        checked = {} if answer.text == said else {"answer": answer.text}
        chunks.append({**self._chunk({}, finish_reason=_finish_reason(answer)), **extras(answer), **checked})
        if self.chat.include_usage:
            chunks.append({**self._chunk({}), "choices": [], "usage": _usage(answer)})
        return chunks

    def _chunk(self, delta: Mapping[str, Any], *, finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.chat.model,
            "choices": [choice],
        }


def _finish_reason(answer: Answer) -> str:
    reason = answer.completion.finish_reason if answer.completion else None
    return "length" if reason == "length" else "stop"


def _usage(answer: Answer) -> dict[str, int]:
    used = answer.completion.usage if answer.completion else None
    if used is None:
        return NOTHING_USED
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
    }
