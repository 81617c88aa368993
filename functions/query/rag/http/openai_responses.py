"""OpenAI's responses: a request as a question with its conversation, an answer as a response or its stream of events.

Format: platform.openai.com/docs/api-reference/responses. Nothing is stored, so a conversation comes with each request.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, Literal

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

type Json = dict[str, Any]

EXAMPLE = '{"input": "..."}'
_INPUT = "text, or a list of messages, each with a role and a content of text"
_INCOMPLETE = {"length": "max_output_tokens"}
_PLACE = {"output_index": 0, "content_index": 0}
_REFUSED: Refused = {
    "previous_response_id": bool,
    "conversation": bool,
    "prompt": bool,
    "background": bool,
    "text": lambda value: isinstance(value, dict) and value.get("format") not in (None, {"type": "text"}),
    "tool_choice": lambda value: value not in (None, "auto", "none"),
    "top_logprobs": bool,
    "include": lambda value: isinstance(value, list) and "message.output_text.logprobs" in value,
}


class InputMessage(ChatMessage):
    """A message of the conversation."""

    type: Annotated[Literal["message"], Field(description="Messages alone are read.")] = "message"


class ResponseRequest(BaseModel):
    """A response to make. Other fields (temperature, tools, max_output_tokens, store ...) are accepted and ignored."""

    model_config = ConfigDict(strict=True)

    input: Annotated[
        str | list[InputMessage],
        Field(min_length=1, description=_INPUT, examples=["What does it cost to change an ocean booking?"]),
    ]
    instructions: Annotated[str | None, Field(description="text; the profile's own prompt says how to answer")] = None
    model: Annotated[str | None, Field(description="the name of a model, as GET /v1/models lists them")] = None
    stream: Annotated[bool | None, Field(description="true or false: whether the answer is streamed")] = None
    metadata: Annotated[dict[str, str] | None, Field(description="an object of texts, which the response repeats")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseAsked(Asked):
    """A response that is asked for, with what it repeats of its request."""

    instructions: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def parse_response_request(body: str, *, profile: str, page: str = "") -> ResponseAsked:
    """The last message of the user is the question, what was said before it the conversation.

    Raises:
        InvalidJson, InvalidParameter, UnsupportedParameter: as ``read_request`` and ``conversation``.
    """
    request = read_request(ResponseRequest, body, refused=_REFUSED, example=EXAMPLE)
    said = request.input
    messages = [ChatMessage(role="user", content=said)] if isinstance(said, str) else said
    return ResponseAsked(
        question=conversation(messages, param="input"),
        model=model_named(request.model, profile),
        stream=request.stream is True,
        page=page,
        instructions=request.instructions,
        metadata=request.metadata or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseForm:
    """One response and the events of its stream, in their order; ``key`` is what its ids end with."""

    asked: ResponseAsked
    key: str
    created: int = field(default_factory=lambda: int(time.time()))
    numbers: Iterator[int] = field(default_factory=count)

    def whole(self, answer: Answer) -> Json:
        """The body of a plain reply."""
        part = self._part(answer.text + sources_below(answer, self.asked), self._annotations(answer))
        cut = answer.completion.finish_reason if answer.completion and answer.partial else None
        status = "incomplete" if answer.partial else "completed"
        used = answer.completion.usage if answer.completion else None
        return {
            **self._response(status, [self._item(status, [part])]),
            "incomplete_details": {"reason": _INCOMPLETE.get(cut or "")} if answer.partial else None,
            "usage": {
                "input_tokens": used.prompt_tokens if used else 0,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": used.completion_tokens if used else 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": used.total_tokens if used else 0,
            },
            **extras(answer),
        }

    def begin(self) -> list[Json]:
        """What comes before all text."""
        response = self._response("in_progress", [])
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
            self._event("response.output_item.added", output_index=0, item=self._item("in_progress", [])),
            self._event("response.content_part.added", **self._place, part=self._part("", [])),
        ]

    def text(self, text: str) -> Json:
        """Some text."""
        return self._event("response.output_text.delta", **self._place, delta=text, logprobs=[])

    def end(self, answer: Answer, streamed: str) -> list[Json]:
        """What follows all text: where the checked text is another than was streamed, this says it."""
        whole = self.whole(answer)
        [item] = whole["output"]
        [part] = item["content"]
        rest, added = text_after_stream(answer, self.asked, streamed), "response.output_text.annotation.added"
        events = [self.text(rest)] if rest else []
        for number, annotation in enumerate(part["annotations"]):
            events.append(self._event(added, **self._place, annotation_index=number, annotation=annotation))
        return [
            *events,
            self._event("response.output_text.done", **self._place, text=part["text"], logprobs=[]),
            self._event("response.content_part.done", **self._place, part=part),
            self._event("response.output_item.done", output_index=0, item=item),
            self._event(f"response.{whole['status']}", response=whole),
        ]

    def failed(self, sentence: str) -> Json:
        """What ends a stream to which no answer comes."""
        error = {"code": "server_error", "message": sentence}
        return self._event("response.failed", response={**self._response("failed", []), "error": error})

    @property
    def _place(self) -> Json:
        return {"item_id": f"msg_{self.key}", **_PLACE}

    def _event(self, kind: str, **fields: Any) -> Json:
        return {"type": kind, "sequence_number": next(self.numbers), **fields}

    def _annotations(self, answer: Answer) -> list[Json]:
        cited = url_citations(answer, page=self.asked.page)
        return [{"type": one["type"], **one["url_citation"]} for one in cited]

    def _part(self, text: str, annotations: list[Json]) -> Json:
        return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}

    def _item(self, status: str, content: list[Json]) -> Json:
        return {
            "type": "message",
            "id": f"msg_{self.key}",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def _response(self, status: str, output: list[Json]) -> Json:
        return {
            "id": f"resp_{self.key}",
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": self.asked.instructions,
            "max_output_tokens": None,
            "metadata": self.asked.metadata,
            "model": self.asked.model,
            "output": output,
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": None,
        }
