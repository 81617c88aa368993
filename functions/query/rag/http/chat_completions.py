"""OpenAI's chat completions: requests read as questions with a conversation, answers as completions or chunks.

Format: platform.openai.com/docs/api-reference/chat. Further fields hold the service's own results. Parameters that
would change the form of a result are refused by name; parameters that tune a model (temperature, max_tokens ...) are
ignored. ``rag.http.openai_responses`` reads its requests by the same functions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rag.errors import InvalidParameter
from rag.http.replies import citations_markdown, query_reply
from rag.http.requests import RefusedParameters, parse_request
from rag.text.sources import source_url
from rag.text.template import replace_surrogates
from rag.values.answer import Answer
from rag.values.question import Question, Turn

MAX_QUESTION_CHARS = 8000
"""Limit of the last message: programs paste mails, and templates with their own text around a question."""
MAX_TURNS, MAX_TURN_CHARS = 10, 4000
"""Limits of the conversation before it: the last turns, and the beginning of each text."""
WITH_SOURCES = "-sources"
"""Ending of a model's name: the answer ends with its sources as links, for programs that show nothing else."""
UNFOUNDED = "Nothing of this is in the documents."
"""Separates a streamed text, which cannot be taken back, from the quotes that replace it as the answer."""
_EXTRAS = ("citations", "references", "sources", "confidence", "refused", "partial", "responseId")
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
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


class Part(BaseModel, strict=True):
    """A piece of a message's text."""

    type: Annotated[Literal["text", "input_text", "output_text"], Field(description="The kind: text alone is read.")]
    text: Annotated[str, Field(description="The text.")]


class ChatMessage(BaseModel, strict=True):
    """One message. Only those of the user and of the assistant are read."""

    role: Annotated[str, Field(description="Who speaks: user or assistant; messages of others are ignored.")]
    content: Annotated[str | list[Part] | None, Field(description="What is said, as text or as parts of text.")] = None

    @property
    def text(self) -> str:
        """The content as one text."""
        parts = self.content if isinstance(self.content, list) else []
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in parts)


class StreamOptions(BaseModel, strict=True):
    """What a stream has beside the text."""

    include_usage: bool | None = None


class ChatRequest(BaseModel, strict=True):
    """A chat completion to make. Other fields (temperature, tools, max_tokens ...) are accepted and ignored."""

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
class ParsedRequest:
    """A request as a question. ``model`` is the name in the reply, ``page`` the address of the service's own page.

    ``include_usage`` is for a stream of chunks; a response repeats ``instructions`` and ``metadata``.
    """

    question: Question
    model: str
    stream: bool = False
    page: str = ""
    include_usage: bool = False
    instructions: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


def models(profile: str) -> tuple[str, ...]:
    """Return the names of the models: the profile, and the same with the sources in the text."""
    return (profile, f"{profile}{WITH_SOURCES}")


def model_named(name: str | None, profile: str) -> str:
    """Return the model for ``name``: many programs send a name of their own, so an unknown one means the profile."""
    return name if name in models(profile) else profile


def model_body(name: str) -> dict[str, Any]:
    """Return a model as GET /v1/models lists it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "serverless-rag"}


def parse_chat(body: str, *, profile: str, page: str = "") -> ParsedRequest:
    """Return the request in ``body``; raises as ``parse_request`` and ``read_conversation``."""
    example = '[{"role": "user", "content": "..."}]'
    request = parse_request(ChatRequest, body, refused=_REFUSED, example=example)
    return ParsedRequest(
        question=read_conversation(request.messages, param="messages"),
        model=model_named(request.model, profile),
        stream=request.stream is True,
        include_usage=request.stream_options is not None and request.stream_options.include_usage is True,
        page=page,
    )


def is_side_task(chat: ParsedRequest, task: str) -> bool:
    """Return whether Open WebUI asks for something beside its user's question: a title, tags, follow-up questions.

    ``task`` is the value of ``SIDE_TASK_HEADER``, ``""`` if absent; a connection that is set up for it sends the task's
    name there (configured as ``{{TASK}}``). Otherwise the prompt has the form of its templates: one message that begins
    with "### Task:" and holds a <chat_history>. Its template for a question with documents holds none.
    """
    if chat.stream or chat.question.turns:
        return False
    text = chat.question.text
    return task.strip() not in {"", "{{TASK}}"} or (text.startswith("### Task:") and "<chat_history>" in text)


def read_conversation(messages: Sequence[ChatMessage], *, param: str) -> Question:
    """Return the last message of the user as the question, and the messages before it as its turns.

    System messages are ignored: the profile's own prompt says how to answer.

    Raises:
        InvalidParameter: no message is the user's.
    """
    spoken = [message for message in messages if message.role in {"user", "assistant"}]
    while spoken and spoken[-1].role != "user":
        spoken.pop()
    if not spoken:
        raise InvalidParameter(f"{param} must hold a message of the user", param=param)
    turns: list[Turn] = []
    for message in spoken[:-1]:
        text = replace_surrogates(message.text)[:MAX_TURN_CHARS]
        if message.role == "user":
            turns.append(Turn(question=text, answer="", at=0.0))
        elif turns:
            answer = f"{turns[-1].answer}\n{text}".strip()[:MAX_TURN_CHARS]
            turns[-1] = Turn(question=turns[-1].question, answer=answer, at=0.0)
    text = replace_surrogates(spoken[-1].text)
    return Question(text=text, turns=tuple(turns[-MAX_TURNS:]), max_chars=MAX_QUESTION_CHARS)


def completion_body(answer: Answer, chat: ParsedRequest) -> dict[str, Any]:
    """Return the body of a plain reply."""
    text, annotations = answer.text + sources_below(answer, chat), url_citations(answer, page=chat.page)
    body = _completion(answer.response_id, chat, text, annotations, _finish_reason(answer))
    return {**body, "usage": _usage(answer), **extra_fields(answer)}


def side_task_body(chat: ParsedRequest, key: str) -> dict[str, Any]:
    """Return the body of a reply to a side task; ``key`` ends its id."""
    return {**_completion(key, chat, SIDE_TASK_ANSWER, [], "stop"), "usage": NO_USAGE}


@dataclass(frozen=True, slots=True)
class ChatChunks:
    """The chunks of one streamed completion; ``id`` is theirs, the answer's own id comes with the last one."""

    chat: ParsedRequest
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
    key: str, chat: ParsedRequest, text: str, annotations: list[dict[str, Any]], finish_reason: str
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


def text_after_stream(answer: Answer, request: ParsedRequest, streamed: str) -> str:
    """Return the text that follows the ``streamed`` text: the answer if that is another one, and the sources."""
    replacement = f"\n\n{UNFOUNDED}\n\n{answer.text}" if answer.model_text and streamed != answer.text else ""
    return replacement + sources_below(answer, request)


def sources_below(answer: Answer, request: ParsedRequest) -> str:
    """Return the list of sources that ends the text of a model ``-sources``; ``""`` for others or no citations."""
    listed = citations_markdown(answer.citations) if request.model.endswith(WITH_SOURCES) else ""
    return f"\n\n**Sources**\n\n{listed}" if listed else ""


def url_citations(answer: Answer, *, page: str) -> list[dict[str, Any]]:
    """Return an annotation ``url_citation`` for each citation mark.

    The address is that of the passage's source, or, without one, of the passage on ``page``.
    """
    chunks = {reference.n: reference.hit.chunk for reference in answer.references}
    annotations = []
    for mark in answer.marks:
        chunk = chunks[mark.n]
        url = source_url(chunk) or f"{page}#{chunk.id}"
        citation = {"start_index": mark.start, "end_index": mark.end, "title": chunk.title, "url": url}
        annotations.append({"type": "url_citation", "url_citation": citation})
    return annotations


def extra_fields(answer: Answer) -> dict[str, Any]:
    """Return the fields of this service that a reply has beside OpenAI's."""
    body = query_reply(answer).model_dump(mode="json")
    return {name: body[name] for name in _EXTRAS}
