"""The completions of an OpenAI-compatible server: whole bodies, and server-sent events as they arrive."""

from __future__ import annotations

import codecs
import io
import json
import re
from contextlib import suppress
from typing import Any

from rag.adapters.llm.answer_text import AnswerText
from rag.adapters.llm.openai_errors import Transient
from rag.errors import LlmFailed
from rag.values.chat import Completion, OnText, Usage

WHOLE, CUT, INTERRUPTED = "stop", "length", "interrupted"
"""Finish reasons of a text that its model ended, that max_tokens or the deadline ended, and that ended otherwise."""

_FINISH_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete"), WHOLE),
    **dict.fromkeys(("length", "max_tokens"), CUT),
}
"""Vendors' finish reasons in lower case; any other one, such as content_filter, means an incomplete answer."""

CHARS_PER_TOKEN = 16
"""Most characters of a completion for each token of its limit: four times the average of English.

The longest tokens of GPT-4o and Llama 3 are runs of a hundred blanks or dashes; a text of these may be cut."""

_NAME = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)


def read_completion(body: bytes, *, model: str, most: int | None = None) -> Completion:
    """Read the first choice of a completion; ``model`` is the requested one, used if the body names none.

    A text of more than ``most`` characters, reasoning included, is cut there with the finish reason ``length``. A
    missing finish reason is None, and so is a usage without all three counts.

    Raises:
        LlmFailed: the body is no JSON, no completion, an HTML page, or has no text beside reasoning.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise LlmFailed("Unreadable completion: not JSON") from exc
    choice = read_choice(data, "message") if isinstance(data, dict) else None
    if choice is None:
        raise LlmFailed("Unreadable completion: no choices")
    content, finish_reason = choice
    answer = AnswerText()
    answer.take(content[:most])
    answer.end()
    if not has_words(answer.text):
        raise LlmFailed("Unreadable completion: no text")
    if most is not None and len(content) > most:
        finish_reason = CUT
    return Completion(
        text=answer.text,
        model=served_name(data.get("model")) or model,
        requested_model=model,
        finish_reason=own_finish_reason(answer) or finish_reason,
        usage=read_usage(data.get("usage")),
    )


def read_choice(body: dict[str, Any], name: str) -> tuple[str, str | None] | None:
    """Return the text and the service's finish reason of the first choice, None if there is none.

    It has the index 0, which a server may leave out. ``name`` is "message" or "delta", whose text Mistral's reasoning
    models send in parts. A missing finish reason is None.
    """
    choices = body.get("choices")
    found = choices if isinstance(choices, list) else []
    choice = next((choice for choice in found if isinstance(choice, dict) and not choice.get("index")), None)
    if choice is None:
        return None
    message = choice.get(name)
    content = message.get("content") if isinstance(message, dict) else ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    reason = choice.get("finish_reason")
    known = _FINISH_REASONS.get(reason.lower(), INTERRUPTED) if isinstance(reason, str) and reason else None
    return "".join(text for text in texts if isinstance(text, str)), known


def has_words(text: str) -> bool:
    """Return whether ``text`` has a letter or a digit; blanks, invisible characters and dots are no answer."""
    return any(char.isalnum() for char in text)


def own_finish_reason(answer: AnswerText) -> str | None:
    """Return the finish reason of an ``answer`` that ended before the vendor's text, None if it did not."""
    return (CUT if answer.is_loop else WHOLE) if answer.has_ended else None


def served_name(value: object) -> str | None:
    """Return the server's name of the model, None if the value is no name."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def read_usage(value: object) -> Usage | None:
    """Return the token counts in ``value``, None unless all three are there."""
    match value:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion), "total_tokens": int(total)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)
    return None


class EventReader:
    """Reads the events of one stream, pairs of name and data, by WHATWG's rules for a ``text/event-stream``.

    The reader of ``openai`` is private and does not know the byte order mark.
    """

    def __init__(self) -> None:
        utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._line = self._name = ""
        self._data: list[str] = []

    def take(self, part: bytes, *, is_last: bool = False) -> list[tuple[str, str]]:
        """Return the events that end within ``part``, the next bytes of the stream.

        If it ``is_last``, the event that the server left without line ends, which may be incomplete, is one of them.
        """
        *lines, self._line = (self._line + self._decoder.decode(part, is_last)).split("\n")
        events: list[tuple[str, str]] = []
        for line in [*lines, self._line, ""] if is_last else lines:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            elif name == "event":
                self._name = value.removeprefix(" ")
            elif not line:
                events += [(self._name, "\n".join(self._data))] if self._data else []
                self._name, self._data = "", []
        return events


_REPORTED = "The LLM reported an error in its stream"


class LongEnough(Exception):
    """The text has its greatest length, or has ended: the rest is not read."""


class StreamedCompletion:
    """The first choice of one streamed completion; ``model`` is the requested one, used if no event names one.

    ``on_text`` gets the text of ``AnswerText``. A body that is one JSON object, of a server that does not stream,
    or an HTML page, is read at its end. ``most`` is the greatest number of characters, reasoning included. With
    ``opens_in_reasoning`` the model is known to close a block of reasoning that it does not open: its text is passed
    on after that, or at the end. ``has_ended``: the model ended its text, which ``answer`` collects.
    """

    def __init__(self, model: str, on_text: OnText, *, most: int | None, opens_in_reasoning: bool) -> None:
        self._model = self._served_name = model
        self._on_text = on_text
        self._most = most
        self._opens_in_reasoning = opens_in_reasoning
        self._events = EventReader()
        self._bytes = bytearray()
        self._whole: bool | None = None
        self.has_ended = False
        self.answer = AnswerText()
        self._chars = self._shown = self._drops = 0
        self._heard = ""
        self._finish_reason: str | None = None
        self._usage: Usage | None = None

    def take(self, part: bytes) -> None:
        """Process the next bytes of the body, ``b""`` during a pause.

        Raises:
            Transient: the server reports an error.
            LlmFailed: an event is no JSON, or the text is an HTML page.
            LongEnough: the text ends here.
        """
        if self._whole is None:
            self._bytes += part
            if not (begun := self._bytes.lstrip(codecs.BOM_UTF8 + b" \t\r\n")):
                return
            self._whole = begun.startswith((b"{", b"<"))
            part, self._bytes = bytes(self._bytes), bytearray()
        if self._whole:
            self._bytes += part
        events = [] if self._whole else self._events.take(part)
        if not events:
            self._on_text("")
        for name, data in events:
            self._read(name, data.strip())

    def completion(self) -> Completion:
        """Return the whole completion.

        Raises:
            Transient: the stream ended early.
            LlmFailed: it has no text.
        """
        if self._whole:
            whole = read_completion(bytes(self._bytes), model=self._model, most=self._most)
            self._on_text(whole.text)
            return whole
        if self._whole is None:
            raise LlmFailed("Unreadable completion: nothing")
        for name, data in self._events.take(b"", is_last=True):
            with suppress(LlmFailed, LongEnough):  # an incomplete event
                self._read(name, data.strip())
        if not self.has_ended:
            raise Transient("The LLM's stream ended early")
        self._end_text()
        completion = self._build(self._finish_reason)
        if not has_words(completion.text):
            raise LlmFailed("Unreadable completion: no text")
        return completion

    def partial(self, finish_reason: str) -> Completion | None:
        """Return the completion so far, None if no text was passed on; a text that has ended has its own reason."""
        completion = self._build(self._finish_reason if self.has_ended else finish_reason)
        return completion if self._heard.strip() and has_words(completion.text) else None

    def _build(self, finish_reason: str | None) -> Completion:
        return Completion(
            text=self.answer.text,
            model=self._served_name,
            requested_model=self._model,
            finish_reason=own_finish_reason(self.answer) or finish_reason,
            usage=self._usage,
            revised=self._heard != self.answer.text,
        )

    def _read(self, name: str, data: str) -> None:
        if not data:
            return
        if data == "[DONE]":
            self.has_ended = True
            return
        if name == "error":
            raise Transient(_REPORTED)
        try:
            payload = json.loads(data)
        except (ValueError, RecursionError) as exc:
            raise LlmFailed("Unreadable completion: an event is not JSON") from exc
        if isinstance(payload, dict):
            self._add(payload)

    def _add(self, event: dict[str, Any]) -> None:
        if event.get("error"):
            raise Transient(_REPORTED)
        self._served_name = served_name(event.get("model")) or self._served_name
        self._usage = read_usage(event.get("usage")) or self._usage
        choice = read_choice(event, "delta")
        if choice is None:
            return
        content, finish_reason = choice
        room = len(content) if self._most is None else max(0, self._most - self._chars)
        self._chars += len(content)
        self.answer.take(content[:room])
        if len(content) > room:
            finish_reason = CUT
        self._finish_reason = finish_reason or self._finish_reason
        self.has_ended = self.has_ended or finish_reason is not None or self.answer.has_ended
        if self.has_ended:
            self._end_text()
        elif content:
            self._show()
        if self.answer.has_ended or len(content) > room:
            raise LongEnough

    def _end_text(self) -> None:
        self.answer.end()
        self._opens_in_reasoning = False
        self._show()

    def _show(self) -> None:
        if self._drops < self.answer.drops:
            self._drops, self._shown, self._opens_in_reasoning = self.answer.drops, 0, False
        if self._opens_in_reasoning:
            self._on_text("")
            return
        new, self._shown = self.answer.text[self._shown :], len(self.answer.text)
        self._heard += new
        self._on_text(new)
