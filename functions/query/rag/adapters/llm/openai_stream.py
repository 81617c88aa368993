"""A completion that arrives as server-sent events: its text shown as it comes, the whole of it read at the end."""

from __future__ import annotations

import codecs
import json
from contextlib import suppress
from typing import Any

from rag.adapters.llm.events import Event, EventReader
from rag.adapters.llm.openai_client import Transient
from rag.adapters.llm.openai_wire import (
    CUT,
    answer_start,
    first_choice,
    read_completion,
    read_usage,
    said,
    served_name,
    without_reasoning,
)
from rag.errors import ClientGone, LlmFailed
from rag.values.chat import STOPPED, Completion, Deadline, OnText, Usage

INTERRUPTED = "interrupted"
"""The finish reasons of a stream that broke off by itself, and of one that the listener wanted no more of."""

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
        return min(pause_s, self._deadline.ending().remaining())

    def longest_pause_s(self) -> float:
        """Seconds that the model may be silent at most, once something was heard."""
        return min(self._deadline.between_s, self._deadline.ending().remaining())

    def finish_reason(self, cause: Exception) -> str:
        """What to call an end of the stream that was not the model's."""
        if isinstance(cause, ClientGone):
            return STOPPED
        return INTERRUPTED if self._deadline.ending().remaining() > 0 else CUT


class GrowingCompletion:
    """The first choice of one streamed completion.

    The ``listener`` gets its text without the reasoning before it. A body that is one JSON object, of a server that
    does not stream, or a page, is read at its end. ``most`` is how many characters the text may have, reasoning
    included.
    """

    def __init__(self, listener: Listener, *, most: int | None = None) -> None:
        self._listener = listener
        self._most = most
        self._events = EventReader()
        self._bytes = bytearray()
        self._whole: bool | None = None
        self._ended = False
        self._text = ""
        self._shown: int | None = None
        self._reasons = False
        self._model: str | None = None
        self._finish_reason: str | None = None
        self._usage: Usage | None = None

    def take(self, part: bytes) -> None:
        """The next bytes of the body, ``b""`` while none come.

        Raises:
            Transient: the server says that it failed.
            LlmFailed: an event is not JSON.
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
            with suppress(LlmFailed):  # half an event
                self._read(event)
        if not self._ended:
            raise Transient("The LLM's stream ended early")
        made = self._made(model, self._finish_reason)
        if not made.text.strip():
            raise LlmFailed("Unreadable completion: no text")
        return made

    @property
    def has_ended(self) -> bool:
        """Whether the model said that its text is complete."""
        return self._ended

    def so_far(self, model: str, *, finish_reason: str) -> Completion | None:
        """What was heard of it, for ``model`` as in ``completion``; None where that is nothing.

        ``finish_reason`` is for a text that had not ended.
        """
        made = self._made(model, self._finish_reason if self._ended else finish_reason)
        return made if self._listener.has_heard and made.text.strip() else None

    def _made(self, model: str, finish_reason: str | None) -> Completion:
        return Completion(
            text=without_reasoning(self._text),
            model=self._model or model,
            asked=model,
            finish_reason=finish_reason,
            usage=self._usage,
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
        if isinstance(reason := choice.get("finish_reason"), str):
            self._finish_reason, self._ended = reason, True
        delta = choice.get("delta")
        content = said(delta.get("content")) if isinstance(delta, dict) else ""
        if content:
            room = len(content) if self._most is None else self._most - len(self._text)
            self._text += content[:room]
            self._show(content)
            if len(content) > room:
                self._finish_reason, self._ended = CUT, True
                raise LongEnough

    def _show(self, added: str) -> None:
        # What reasons on has no end without one of these: a long block is not read anew with each of its words.
        if self._shown is None and (">" in added or not self._reasons):
            self._shown = answer_start(self._text)
            self._reasons = self._shown is None and answer_start(f"{self._text}.") is None
        if self._shown is None:
            self._listener("")
            return
        new, self._shown = self._text[self._shown :], len(self._text)
        self._listener(new)
