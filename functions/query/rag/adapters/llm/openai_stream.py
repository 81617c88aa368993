"""A completion that arrives as server-sent events: its text shown as it comes, the whole of it read at the end."""

from __future__ import annotations

import codecs
import json
from contextlib import suppress
from typing import Any

from rag.adapters.llm.answer_text import AnswerText
from rag.adapters.llm.events import Event, EventReader
from rag.adapters.llm.openai_client import Transient
from rag.adapters.llm.openai_wire import (
    CUT,
    INTERRUPTED,
    first_choice,
    has_words,
    own_finish_reason,
    read_completion,
    read_finish_reason,
    read_usage,
    said,
    served_name,
)
from rag.errors import ClientGone, LlmFailed
from rag.values.chat import STOPPED, Completion, Deadline, OnText, Usage

_DONE = "[DONE]"
_REPORTED = "The LLM reported an error in its stream"


class LongEnough(Exception):
    """The text is as long as it may be: nothing more is to be read."""


class BrokeOff(Exception):
    """A stream that somebody has heard some text of has no end; ``completion`` is what there is of it."""

    def __init__(self, completion: Completion, cause: Exception) -> None:
        super().__init__(f"The LLM's answer is not whole ({completion.finish_reason}): {cause}")
        self.completion = completion


class Listener:
    """``on_text``, what it has heard, and so how long a stream may still take.

    ``anything`` says whether it got a character. A text that is more than white space counts as heard even where
    ``on_text`` raises.
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
        finally:  # the time that it took is no pause of the model's
            if text.strip():
                self._last_at = self._deadline.clock()

    @property
    def has_heard(self) -> bool:
        """Whether it got more than white space."""
        return self._last_at is not None

    def left_s(self) -> float | None:
        """Seconds in which the next text, or the end, must come; None as long as nothing was heard."""
        if self._last_at is None:
            return None
        pause_s = self._last_at + self._deadline.between_s - self._deadline.clock()
        return min(pause_s, self._deadline.stream_deadline().remaining())

    def longest_pause_s(self) -> float:
        """Seconds that the model may be silent at most, once something was heard."""
        return min(self._deadline.between_s, self._deadline.stream_deadline().remaining())

    def finish_reason(self, cause: Exception) -> str:
        """What to call an end of the stream that was not the model's."""
        if isinstance(cause, ClientGone):
            return STOPPED
        return INTERRUPTED if self._deadline.stream_deadline().remaining() > 0 else CUT


class GrowingCompletion:
    """The first choice of one streamed completion.

    The ``listener`` gets its text as ``AnswerText`` has it. A body that is one JSON object, of a server that does not
    stream, or a page, is read at its end. ``most`` is how many characters the text may have, reasoning included.
    With ``opens_in_reasoning`` the model is known to close a block of reasoning that it does not open: nothing is
    shown before that, or before the end.
    """

    def __init__(self, listener: Listener, *, most: int | None = None, opens_in_reasoning: bool = False) -> None:
        self._listener = listener
        self._most = most
        self._opens_in_reasoning = opens_in_reasoning
        self._events = EventReader()
        self._bytes = bytearray()
        self._whole: bool | None = None
        self._ended = False
        self._answer = AnswerText()
        self._chars = self._shown = self._drops = 0
        self._heard = ""
        self._model: str | None = None
        self._finish_reason: str | None = None
        self._usage: Usage | None = None

    def take(self, part: bytes) -> None:
        """The next bytes of the body, ``b""`` while none come.

        Raises:
            Transient: the server says that it failed.
            LlmFailed: an event is not JSON, or the text is an HTML page.
            LongEnough: the text ends here, whatever else the server says.
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
        """All of it; ``model`` is the one asked for, used when no event names one.

        Raises:
            Transient: the stream ended before its end.
            LlmFailed: there is no text in it.
        """
        if self._whole:
            whole = read_completion(bytes(self._bytes), model=model, most=self._most)
            self._listener(whole.text)
            return whole
        if self._whole is None:
            raise LlmFailed("Unreadable completion: nothing")
        for event in self._events.end():
            with suppress(LlmFailed, LongEnough):  # half an event
                self._read(event)
        if not self._ended:
            raise Transient("The LLM's stream ended early")
        self._end_text()
        made = self._made(model, self._finish_reason)
        if not has_words(made.text):
            raise LlmFailed("Unreadable completion: no text")
        return made

    @property
    def closed_reasoning(self) -> bool:
        """Whether the model closed a block of reasoning that it had not opened."""
        return self._answer.drops > 0

    @property
    def has_ended(self) -> bool:
        """Whether the model said that its text is complete."""
        return self._ended

    def so_far(self, model: str, *, finish_reason: str) -> Completion | None:
        """What was heard of it, for ``model`` as in ``completion``; None where that is nothing.

        ``finish_reason`` is for a text that had not ended.
        """
        made = self._made(model, self._finish_reason if self._ended else finish_reason)
        return made if self._listener.has_heard and has_words(made.text) else None

    def _made(self, model: str, finish_reason: str | None) -> Completion:
        return Completion(
            text=self._answer.text,
            model=self._model or model,
            requested_model=model,
            finish_reason=own_finish_reason(self._answer) or finish_reason,
            usage=self._usage,
            revised=self._heard != self._answer.text,
        )

    def _read(self, event: Event) -> None:
        data = event.data.strip()
        if not data:
            return
        if data == _DONE:
            self._ended = True
            return
        if event.name == "error":
            raise Transient(_REPORTED)
        try:
            told = json.loads(data)
        except (ValueError, RecursionError) as exc:
            raise LlmFailed("Unreadable completion: an event is not JSON") from exc
        if isinstance(told, dict):
            self._add(told)

    def _add(self, event: dict[str, Any]) -> None:
        if event.get("error"):
            raise Transient(_REPORTED)
        self._model = served_name(event.get("model")) or self._model
        self._usage = read_usage(event.get("usage")) or self._usage
        choice = first_choice(event.get("choices"))
        if choice is None:
            return
        delta = choice.get("delta")
        content = said(delta.get("content")) if isinstance(delta, dict) else ""
        room = len(content) if self._most is None else max(0, self._most - self._chars)
        self._chars += len(content)
        self._answer.take(content[:room])
        if reason := read_finish_reason(choice.get("finish_reason")):
            self._finish_reason, self._ended = reason, True
        if len(content) > room:
            self._finish_reason, self._ended = CUT, True
        self._ended = self._ended or self._answer.has_ended
        if self._ended:
            self._end_text()
        elif content:
            self._show()
        if self._answer.has_ended or len(content) > room:
            raise LongEnough

    def _end_text(self) -> None:
        self._answer.end()
        self._opens_in_reasoning = False
        self._show()

    def _show(self) -> None:
        if self._drops < self._answer.drops:
            self._drops, self._shown, self._opens_in_reasoning = self._answer.drops, 0, False
        if self._opens_in_reasoning:
            self._listener("")
            return
        new, self._shown = self._answer.text[self._shown :], len(self._answer.text)
        self._heard += new
        self._listener(new)
