"""OpenAI's responses: requests read as questions with a conversation, answers as responses or streams of events.

Format: platform.openai.com/docs/api-reference/responses. Nothing is stored, so a conversation comes with each request.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rag.http import chat_completions
from rag.http.chat_completions import ChatMessage, ParsedRequest
from rag.http.requests import RefusedParameters, parse_request
from rag.values.answer import Answer

type Json = dict[str, Any]

_REFUSED: RefusedParameters = {
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


class ResponseRequest(BaseModel, strict=True):
    """A response to make. Other fields (temperature, tools, max_output_tokens, store ...) are accepted and ignored."""

    input: Annotated[
        str | list[InputMessage],
        Field(
            min_length=1,
            description="text, or a list of messages, each with a role and a content of text",
            examples=["What does it cost to change an ocean booking?"],
        ),
    ]
    instructions: Annotated[str | None, Field(description="text; the profile's own prompt says how to answer")] = None
    model: Annotated[str | None, Field(description="the name of a model, as GET /v1/models lists them")] = None
    stream: Annotated[bool | None, Field(description="true or false: whether the answer is streamed")] = None
    metadata: Annotated[dict[str, str] | None, Field(description="an object of texts, which the response repeats")] = (
        None
    )


def parse_response_request(body: str, *, profile: str, page: str = "") -> ParsedRequest:
    """Return the request in ``body``; raises as ``parse_request`` and ``read_conversation``."""
    request = parse_request(ResponseRequest, body, refused=_REFUSED)
    given = request.input
    messages = [ChatMessage(role="user", content=given)] if isinstance(given, str) else given
    return ParsedRequest(
        question=chat_completions.read_conversation(messages, param="input"),
        model=chat_completions.model_named(request.model, profile),
        stream=request.stream is True,
        page=page,
        instructions=request.instructions,
        metadata=request.metadata or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseBuilder:
    """Builds one response, plain or as the events of a stream in their order; ``key`` ends its ids."""

    request: ParsedRequest
    key: str
    created: int = field(default_factory=lambda: int(time.time()))
    numbers: Iterator[int] = field(default_factory=count)

    def response(self, answer: Answer) -> Json:
        """Return the body of a plain reply."""
        annotations = [
            {"type": annotation["type"], **annotation["url_citation"]}
            for annotation in chat_completions.url_citations(answer, page=self.request.page)
        ]
        part = self._part(answer.text + chat_completions.sources_below(answer, self.request), annotations)
        status = "incomplete" if answer.partial else "completed"
        cut_off = answer.completion is not None and answer.completion.finish_reason == "length"
        usage = answer.completion.usage if answer.completion else None
        return {
            **self._response(status, [self._item(status, [part])]),
            "incomplete_details": {"reason": "max_output_tokens" if cut_off else None} if answer.partial else None,
            "usage": {
                "input_tokens": usage.prompt_tokens if usage else 0,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": usage.completion_tokens if usage else 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.total_tokens if usage else 0,
            },
            **chat_completions.extra_fields(answer),
        }

    def first_events(self) -> list[Json]:
        """Return the events before the text."""
        response = self._response("in_progress", [])
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
            self._event("response.output_item.added", output_index=0, item=self._item("in_progress", [])),
            self._part_event("response.content_part.added", part=self._part("", [])),
        ]

    def text_event(self, text: str) -> Json:
        """Return an event with some text."""
        return self._part_event("response.output_text.delta", delta=text, logprobs=[])

    def last_events(self, answer: Answer, streamed: str) -> list[Json]:
        """Return the events after the text ``streamed``; they hold the checked text, which may be another one."""
        response = self.response(answer)
        [item] = response["output"]
        [part] = item["content"]
        rest = chat_completions.text_after_stream(answer, self.request, streamed)
        events = [self.text_event(rest)] if rest else []
        for number, annotation in enumerate(part["annotations"]):
            kind = "response.output_text.annotation.added"
            events.append(self._part_event(kind, annotation_index=number, annotation=annotation))
        return [
            *events,
            self._part_event("response.output_text.done", text=part["text"], logprobs=[]),
            self._part_event("response.content_part.done", part=part),
            self._event("response.output_item.done", output_index=0, item=item),
            self._event(f"response.{response['status']}", response=response),
        ]

    def failure_event(self, sentence: str) -> Json:
        """Return the event that ends a stream without an answer."""
        error = {"code": "server_error", "message": sentence}
        return self._event("response.failed", response={**self._response("failed", []), "error": error})

    def _event(self, kind: str, **fields: Any) -> Json:
        return {"type": kind, "sequence_number": next(self.numbers), **fields}

    def _part_event(self, kind: str, **fields: Any) -> Json:
        return self._event(kind, item_id=f"msg_{self.key}", output_index=0, content_index=0, **fields)

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
            "instructions": self.request.instructions,
            "max_output_tokens": None,
            "metadata": self.request.metadata,
            "model": self.request.model,
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
