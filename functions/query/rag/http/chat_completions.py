"""OpenAI's chat completions: a request as a question with its conversation, an answer as a completion or its chunks.

Format: platform.openai.com/docs/api-reference/chat. What the service says beside it stands in further fields.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.errors import InvalidParameter
from rag.http.citations_markdown import citations_markdown
from rag.http.replies import query_reply
from rag.http.requests import InvalidJson
from rag.http.url_citations import url_citations
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Answer, Question
from rag.values.question import Turn

MAX_TURNS, MAX_TURN_CHARS = 10, 4000
"""So much of a conversation is looked at: the last turns, and the beginning of each text."""
WITH_SOURCES = "-sources"
"""A model of this ending writes the sources as links below the answer, for programs that show nothing else."""
NOTHING_USED = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
_TEXT_ONLY = "a list of messages, each with a role and a content of text"
_EXTRAS = ("citations", "references", "sources", "confidence", "refused", "partial", "responseId")


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message. Only those of the user and of the assistant are read."""

    model_config = ConfigDict(strict=True)

    role: str
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        """What it says, in one piece."""
        parts = self.content if isinstance(self.content, list) else []
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in parts)


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
    n: Annotated[int | None, Field(ge=1, le=1, description="1: there is one answer to a question")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """What is asked for. ``model`` is the name that the reply bears, ``page`` where the service's own page is."""

    question: Question
    model: str
    stream: bool = False
    include_usage: bool = False
    page: str = ""

    @property
    def with_sources(self) -> bool:
        """Whether the text ends with the sources."""
        return self.model.endswith(WITH_SOURCES)


def models(profile: str) -> tuple[str, ...]:
    """The names of the models that there are: the profile, and the same with its sources in the text."""
    return (profile, f"{profile}{WITH_SOURCES}")


def parse_chat(body: str, *, profile: str, page: str = "") -> Chat:
    """The last message of the user is the question, what was said before it the conversation.

    System messages are ignored: the profile's own prompt says how to answer. Any name is taken for a model, since many
    programs send one of their own; the profile answers.

    Raises:
        InvalidJson: not a JSON object.
        InvalidParameter: a field is wrong, or no message is the user's.
    """
    try:
        request = ChatRequest.model_validate(json.loads(body))
    except (ValueError, RecursionError) as exc:
        errors = exc.errors(include_url=False) if isinstance(exc, ValidationError) else []
        wrong = [str(error["loc"][0]) for error in errors if error["loc"]]
        if not wrong:
            example = '{"messages": [{"role": "user", "content": "..."}]}'
            raise InvalidJson(f"Request body must be a JSON object such as {example}") from exc
        raise InvalidParameter(f"{wrong[0]} must be {ChatRequest.model_fields[wrong[0]].description}") from exc
    said = [message for message in request.messages if message.role in {"user", "assistant"}]
    while said and said[-1].role != "user":
        said.pop()
    if not said:
        raise InvalidParameter("messages must hold a message of the user")
    question = Question(text=replace_surrogates(said[-1].text), turns=_turns(said[:-1]))
    options = request.stream_options or StreamOptions()
    return Chat(
        question=question,
        model=request.model if request.model in models(profile) else profile,
        stream=request.stream is True,
        include_usage=options.include_usage is True,
        page=page,
    )


def completion(answer: Answer, chat: Chat) -> dict[str, Any]:
    """The body of a plain reply."""
    message = {
        "role": "assistant",
        "content": answer.text + _sources(answer, chat),
        "refusal": None,
        "annotations": url_citations(answer, page=chat.page),
    }
    return {
        "id": f"chatcmpl-{answer.response_id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": chat.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}],
        "usage": _usage(answer),
        **_extras(answer),
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
        """What follows all text: the sources, the end with the fields of a plain reply, and what was used.

        ``said`` is the text that was streamed; where the checked answer is another one, the end holds it, and the
        annotations count in that.
        """
        chunks = [self.text(sources)] if (sources := _sources(answer, self.chat)) else []
        if cited := url_citations(answer, page=self.chat.page):
            chunks.append(self._chunk({"annotations": cited}))
        checked = {} if answer.text == said else {"answer": answer.text}
        chunks.append({**self._chunk({}, finish_reason=_finish_reason(answer)), **_extras(answer), **checked})
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


def error_body(sentence: str, code: str, status: int) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": sentence, "type": kind, "param": None, "code": code}}


def model_body(name: str) -> dict[str, Any]:
    """A model as GET /v1/models lists it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "serverless-rag"}


def _turns(said: Sequence[ChatMessage]) -> tuple[Turn, ...]:
    """What was asked, each with what was answered until the next question."""
    turns: list[Turn] = []
    for message in said:
        text = replace_surrogates(message.text)[:MAX_TURN_CHARS]
        if message.role == "user":
            turns.append(Turn(question=text, answer="", at=0.0))
        elif turns:
            answered = f"{turns[-1].answer}\n{text}".strip()[:MAX_TURN_CHARS]
            turns[-1] = Turn(question=turns[-1].question, answer=answered, at=0.0)
    return tuple(turns[-MAX_TURNS:])


def _sources(answer: Answer, chat: Chat) -> str:
    listed = citations_markdown(answer.citations)
    return f"\n\n**Sources**\n\n{listed}" if listed and chat.with_sources else ""


def _extras(answer: Answer) -> dict[str, Any]:
    body = query_reply(answer)
    return {name: body[name] for name in _EXTRAS}


def _finish_reason(answer: Answer) -> str:
    reason = answer.completion.finish_reason if answer.completion else None
    return reason if reason in {"stop", "length", "content_filter"} else "stop"


def _usage(answer: Answer) -> dict[str, int]:
    used = answer.completion.usage if answer.completion else None
    if used is None:
        return NOTHING_USED
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
    }
