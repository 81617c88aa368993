"""What OpenAI's chat completions and responses have in common: how a request is read, and which models there are.

A conversation is read as a question and the turns before it. What would change the form of a result is refused by name,
what tunes a model (temperature, tools, max_tokens ...) is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.errors import InvalidParameter, UnsupportedParameter
from rag.http.citations_markdown import citations_markdown
from rag.http.replies import query_reply
from rag.http.requests import InvalidJson
from rag.text.surrogates import replace_surrogates
from rag.values.answer import Answer
from rag.values.question import Question, Turn

MAX_QUESTION_CHARS = 8000
"""The longest last message: programs paste mails, and templates with their own text around a question."""
MAX_TURNS, MAX_TURN_CHARS = 10, 4000
"""So much of a conversation is looked at: the last turns, and the beginning of each text."""
WITH_SOURCES = "-sources"
"""A model of this ending writes the sources as links below the answer, for programs that show nothing else."""
UNFOUNDED = "Nothing of this is in the documents."
"""Stands between a streamed text, which cannot be taken back, and the quotes that are the answer."""
_EXTRAS = ("citations", "references", "sources", "confidence", "refused", "partial", "responseId")

type Refused = Mapping[str, Callable[[Any], bool]]
"""Parameters, and which values of them would change the form of a result."""


class Part(BaseModel):
    """A piece of a message's text."""

    model_config = ConfigDict(strict=True)

    type: Annotated[Literal["text", "input_text", "output_text"], Field(description="The kind: text alone is read.")]
    text: Annotated[str, Field(description="The text.")]


class ChatMessage(BaseModel):
    """One message. Only those of the user and of the assistant are read."""

    model_config = ConfigDict(strict=True)

    role: Annotated[str, Field(description="Who speaks: user or assistant; messages of others are ignored.")]
    content: Annotated[str | list[Part] | None, Field(description="What is said, as text or as parts of text.")] = None

    @property
    def text(self) -> str:
        """What it says, in one piece."""
        parts = self.content if isinstance(self.content, list) else []
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for. ``model`` is the name that the reply bears, ``page`` where the service's own page is."""

    question: Question
    model: str
    stream: bool = False
    page: str = ""

    @property
    def with_sources(self) -> bool:
        """Whether the text ends with the sources."""
        return self.model.endswith(WITH_SOURCES)


def models(profile: str) -> tuple[str, ...]:
    """The names of the models that there are: the profile, and the same with its sources in the text."""
    return (profile, f"{profile}{WITH_SOURCES}")


def model_named(name: str | None, profile: str) -> str:
    """The model that answers to ``name``: many programs send a name of their own, so any other means the profile."""
    return name if name in models(profile) else profile


def read_request[M: BaseModel](model: type[M], body: str, *, refused: Refused, example: str) -> M:
    """The request in ``body``.

    Raises:
        InvalidJson: not a JSON object.
        UnsupportedParameter: one of ``refused`` is asked for.
        InvalidParameter: a field is wrong; names it and what is accepted.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise InvalidJson(f"Request body must be a JSON object such as {example}") from exc
    if not isinstance(fields, dict):
        raise InvalidJson(f"Request body must be a JSON object such as {example}")
    for name, changes_form in refused.items():
        if changes_form(fields.get(name)):
            raise UnsupportedParameter(name)
    try:
        return model.model_validate(fields)
    except (ValidationError, RecursionError) as exc:
        errors = exc.errors(include_url=False) if isinstance(exc, ValidationError) else []
        name = str(errors[0]["loc"][0]) if errors else next(iter(model.model_fields))
        raise InvalidParameter(f"{name} must be {model.model_fields[name].description}", param=name) from exc


def conversation(messages: Sequence[ChatMessage], *, param: str) -> Question:
    """The last message of the user as the question, what was said before it as its turns.

    System messages are ignored: the profile's own prompt says how to answer.

    Raises:
        InvalidParameter: no message is the user's.
    """
    said = [message for message in messages if message.role in {"user", "assistant"}]
    while said and said[-1].role != "user":
        said.pop()
    if not said:
        raise InvalidParameter(f"{param} must hold a message of the user", param=param)
    text = replace_surrogates(said[-1].text)
    return Question(text=text, turns=_turns(said[:-1]), max_chars=MAX_QUESTION_CHARS)


def text_after_stream(answer: Answer, asked: Asked, streamed: str) -> str:
    """Return what follows the ``streamed`` text: the answer where that is none, and the sources."""
    instead = f"\n\n{UNFOUNDED}\n\n{answer.text}" if answer.model_text and streamed != answer.text else ""
    return instead + sources_below(answer, asked)


def sources_below(answer: Answer, asked: Asked) -> str:
    """What ends the text of a model ``-sources``; ``""`` for others, and where nothing is cited."""
    listed = citations_markdown(answer.citations) if asked.with_sources else ""
    return f"\n\n**Sources**\n\n{listed}" if listed else ""


def extras(answer: Answer) -> dict[str, Any]:
    """What the service says of an answer beside OpenAI's fields."""
    body = query_reply(answer)
    return {name: body[name] for name in _EXTRAS}


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
