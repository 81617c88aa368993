"""Answers as server-sent events: sent to a stream as they are written, or, without one, collected in one body."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from rag.errors import ClientGone
from rag.http.failures import HttpFailure
from rag.values.answer import Answer
from rag.values.question import Question
from rag.values.request import Delta, Event
from routes.call import HEADERS, Call, to_json
from routes.gateway import Response, text_response
from telemetry import observe, observe_error

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE_S = 1.0
"""Interval of comments in a silent stream: they show that a client has gone, and keep proxies from closing it."""


@dataclass(frozen=True, slots=True)
class EventFormat:
    """A protocol's format of server-sent events.

    ``begin`` comes first; ``encode`` writes an event of the answer, ``b""`` if the protocol has none like it; ``end``
    gets the answer and the streamed text. ``failure`` ends a stream that has begun and gets no answer.
    """

    begin: bytes
    encode: Callable[[Event], bytes]
    end: Callable[[Answer, str], bytes]
    failure: Callable[[HttpFailure], bytes]


def server_sent_event(data: object, name: str = "") -> bytes:
    """Return one server-sent event; ``data`` other than text is written as JSON."""
    text = data if isinstance(data, str) else to_json(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "replace")


def answer_in_events(call: Call, question: Question, events: EventFormat) -> Response:
    """Answer ``question`` in ``events``, its text as the model writes it.

    An error after the first byte is an event; an earlier one is raised. A client that has gone ends the answer.
    """
    sender = _EventSender(call, events)
    try:
        answer = call.service.pipeline.run(question, deadline=call.deadline, listen=sender.send_event)
        observe(answer, protocol=call.endpoint.protocol, first_text_ms=sender.first_text_ms)
        if answer.text.startswith(sender.text):
            sender.send_event(Delta(answer.text[len(sender.text) :]))
        sender.send(events.end(answer, sender.text))
    except ClientGone as error:
        observe_error(error, code="client_gone", status=499)
    except Exception as error:
        if not (sender.opened and call.stream):
            raise
        failure = call.report(error)
        with suppress(ClientGone):
            sender.send(events.failure(failure))
    return text_response(HTTPStatus.OK, EVENT_STREAM, sender.collected.decode(), HEADERS)


class _EventSender:
    """Sends events to the stream of ``call``, or collects them without one. ``text`` is the streamed text so far."""

    def __init__(self, call: Call, events: EventFormat) -> None:
        self._call = call
        self._events = events
        self._started = self._sent_at = time.monotonic()
        self.opened = False
        self.collected = b""
        self.text = ""
        self.first_text_ms: float | None = None

    def send_event(self, event: Event) -> None:
        """Send an event of the answer; for the empty text of a silent model, a comment when it is time."""
        if event == Delta(""):
            if self._call.stream and time.monotonic() - self._sent_at >= KEEP_ALIVE_S:
                self.send(b": waiting\n\n")
            return
        if isinstance(event, Delta):
            if self.first_text_ms is None:
                self.first_text_ms = 1000 * (time.monotonic() - self._started)
            self.text += event.text
        if data := self._events.encode(event):
            self.send(data)

    def send(self, data: bytes) -> None:
        """Send ``data``; before the first, open the stream and send the format's beginning."""
        stream = self._call.stream
        if not self.opened:
            self.opened = True
            if stream:
                stream.open(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, **HEADERS, **self._call.cors_headers})
            data = self._events.begin + data
        self._sent_at = time.monotonic()
        if stream is None:
            self.collected += data
        elif data:
            stream.write(data)
