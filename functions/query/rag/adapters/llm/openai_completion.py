"""A completion that arrives as server-sent events: pass its text on as it arrives, and return it at the end."""

from __future__ import annotations

import codecs
import io
import json
from contextlib import suppress
from typing import Any, NamedTuple

from rag.adapters.llm.answer_text import AnswerText
from rag.adapters.llm.openai_wire import (
    CUT,
    INTERRUPTED,
    Transient,
    content_text,
    first_choice,
    has_words,
    own_finish_reason,
    read_completion,
    read_finish_reason,
    read_usage,
    served_name,
)
from rag.errors import ClientGone, LlmFailed
from rag.values.chat import STOPPED, Completion, Deadline, OnText, Usage


class ServerSentEvent(NamedTuple):
    """An event; ``name`` may be ``""``, ``data`` has its lines with LF between them."""

    name: str
    data: str


class EventReader:
    """Reads the events of one stream by WHATWG's rules for a ``text/event-stream``.

    The reader of ``openai`` is private and does not know the byte order mark.
    """

    def __init__(self) -> None:
        utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
        self._line = self._name = ""
        self._data: list[str] = []

    def take(self, part: bytes, *, is_last: bool = False) -> list[ServerSentEvent]:
        """Return the events that end within ``part``, the next bytes of the stream.

        If it ``is_last``, the event that the server left without line ends, which may be incomplete, is one of them.
        """
        *lines, self._line = (self._line + self._decoder.decode(part, is_last)).split("\n")
        events: list[ServerSentEvent] = []
        for line in [*lines, self._line, ""] if is_last else lines:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            elif name == "event":
                self._name = value.removeprefix(" ")
            elif not line:
                events += [ServerSentEvent(self._name, "\n".join(self._data))] if self._data else []
                self._name, self._data = "", []
        return events


_DONE = "[DONE]"
_REPORTED = "The LLM reported an error in its stream"


class LongEnough(Exception):
    """The text has its greatest length, or has ended: the rest is not read."""


class BrokeOff(Exception):
    """A stream broke off after text was passed on; ``completion`` is the text so far."""

    def __init__(self, completion: Completion, cause: Exception) -> None:
        super().__init__(f"The LLM's answer is not whole ({completion.finish_reason}): {cause}")
        self.completion = completion


class Listener:
    """Passes text to ``on_text`` and computes the time left for the stream.

    ``anything``: at least one character was passed on. A text with more than white space counts even if ``on_text``
    raises.
    """

    def __init__(self, on_text: OnText, deadline: Deadline) -> None:
        self.anything = False
        self._on_text = on_text
        self._deadline = deadline
        self._last_at: float | None = None

    def __call__(self, text: str) -> None:
        """Pass ``text`` on."""
        self.anything = self.anything or text != ""
        try:
            self._on_text(text)
        finally:  # the time of ``on_text`` is no pause of the model
            if text.strip():
                self._last_at = self._deadline.clock()

    @property
    def has_heard(self) -> bool:
        """Whether more than white space was passed on."""
        return self._last_at is not None

    def left_s(self) -> float | None:
        """Return the seconds left until the next text or the end, None before the first text."""
        if self._last_at is None:
            return None
        pause_s = self._last_at + self._deadline.between_s - self._deadline.clock()
        return min(pause_s, self._deadline.stream_deadline().remaining())

    def longest_pause_s(self) -> float:
        """Return the longest pause of the model after the first text, in seconds."""
        return min(self._deadline.between_s, self._deadline.stream_deadline().remaining())

    def finish_reason(self, cause: Exception) -> str:
        """Return the finish reason of a stream that the model did not end."""
        if isinstance(cause, ClientGone):
            return STOPPED
        return INTERRUPTED if self._deadline.stream_deadline().remaining() > 0 else CUT


class StreamedCompletion:
    """The first choice of one streamed completion.

    The ``listener`` gets the text of ``AnswerText``. A body that is one JSON object, of a server that does not stream,
    or an HTML page, is read at its end. ``most`` is the greatest number of characters, reasoning included. With
    ``opens_in_reasoning`` the model is known to close a block of reasoning that it does not open: its text is passed
    on after that, or at the end. ``has_ended``: the model ended its text, which ``answer`` collects.
    """

    def __init__(self, listener: Listener, *, most: int | None = None, opens_in_reasoning: bool = False) -> None:
        self._listener = listener
        self._most = most
        self._opens_in_reasoning = opens_in_reasoning
        self._events = EventReader()
        self._bytes = bytearray()
        self._whole: bool | None = None
        self.has_ended = False
        self.answer = AnswerText()
        self._chars = self._shown = self._drops = 0
        self._heard = ""
        self._model: str | None = None
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
            part = bytes(self._bytes)
            self._bytes.clear()
        if self._whole:
            self._bytes += part
        events = [] if self._whole else self._events.take(part)
        if not events:
            self._listener("")
        for event in events:
            self._read(event)

    def completion(self, model: str) -> Completion:
        """Return the whole completion; ``model`` is the requested one, used if no event names one.

        Raises:
            Transient: the stream ended early.
            LlmFailed: it has no text.
        """
        if self._whole:
            whole = read_completion(bytes(self._bytes), model=model, most=self._most)
            self._listener(whole.text)
            return whole
        if self._whole is None:
            raise LlmFailed("Unreadable completion: nothing")
        for event in self._events.take(b"", is_last=True):
            with suppress(LlmFailed, LongEnough):  # an incomplete event
                self._read(event)
        if not self.has_ended:
            raise Transient("The LLM's stream ended early")
        self._end_text()
        completion = self._build(model, self._finish_reason)
        if not has_words(completion.text):
            raise LlmFailed("Unreadable completion: no text")
        return completion

    def partial(self, model: str, *, finish_reason: str) -> Completion | None:
        """Return the completion so far, None if no text was passed on; ``model`` as in ``completion``.

        ``finish_reason`` is for a text that has not ended.
        """
        completion = self._build(model, self._finish_reason if self.has_ended else finish_reason)
        return completion if self._listener.has_heard and has_words(completion.text) else None

    def _build(self, model: str, finish_reason: str | None) -> Completion:
        return Completion(
            text=self.answer.text,
            model=self._model or model,
            requested_model=model,
            finish_reason=own_finish_reason(self.answer) or finish_reason,
            usage=self._usage,
            revised=self._heard != self.answer.text,
        )

    def _read(self, event: ServerSentEvent) -> None:
        data = event.data.strip()
        if not data:
            return
        if data == _DONE:
            self.has_ended = True
            return
        if event.name == "error":
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
        self._model = served_name(event.get("model")) or self._model
        self._usage = read_usage(event.get("usage")) or self._usage
        choice = first_choice(event.get("choices"))
        if choice is None:
            return
        delta = choice.get("delta")
        content = content_text(delta.get("content")) if isinstance(delta, dict) else ""
        room = len(content) if self._most is None else max(0, self._most - self._chars)
        self._chars += len(content)
        self.answer.take(content[:room])
        if reason := read_finish_reason(choice.get("finish_reason")):
            self._finish_reason, self.has_ended = reason, True
        if len(content) > room:
            self._finish_reason, self.has_ended = CUT, True
        self.has_ended = self.has_ended or self.answer.has_ended
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
            self._listener("")
            return
        new, self._shown = self.answer.text[self._shown :], len(self.answer.text)
        self._heard += new
        self._listener(new)
