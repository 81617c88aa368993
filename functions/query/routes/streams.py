"""Responses that are sent while they are made: server-sent events, to a stream or, without one, as one body."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from rag.errors import ClientGone
from rag.http.replies import QUERY, Wording
from rag.values.answer import Answer
from rag.values.question import Question
from rag.values.request import Delta
from rag.values.request import Event as Told
from routes.call import HEADERS, Call, Response
from routes.failures import Failure, explain
from telemetry import observe, observe_error

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = b": waiting\n\n"
KEEP_ALIVE_S = 1.0
"""A stream that has nothing to say says so this often: who has gone is noticed, and no proxy takes it for dead."""


class ResponseStream(Protocol):
    """Takes one response of the Lambda handler piece by piece: attribute ``response_stream`` of its context."""

    @property
    def opened(self) -> bool:
        """Whether it has begun."""
        ...

    def open(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin it; once, before the first ``write``."""
        ...

    def write(self, data: bytes) -> None:
        """Send ``data`` at once.

        Raises:
            ClientGone: nobody listens any more.
        """
        ...


@dataclass(frozen=True, slots=True)
class Events:
    """How a protocol puts an answer into server-sent events.

    ``begin`` come first; ``told`` words what becomes true on the way, ``b""`` where the protocol has no word for it;
    ``end`` gets the answer, and all text that was sent; ``failure`` tells that there will be none, ``refusal`` does so
    where nothing was sent yet.
    """

    begin: bytes
    told: Callable[[Told], bytes]
    end: Callable[[Answer, str], bytes]
    failure: Callable[[Failure], bytes]
    refusal: Callable[[Failure], Response]


def event(data: object, name: str = "") -> bytes:
    """One server-sent event, ``data`` as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "replace")


def answer_in_events(
    call: Call, parse: Callable[[], Question], events: Events, *, protocol: str, wording: Wording = QUERY
) -> Response:
    """Answer what ``parse`` reads of the request in ``events``, the text as it comes.

    What goes wrong before the first byte has its own status; later it is an event. A client that has gone ends it all.
    """
    out = _Out(call.stream, events)
    try:
        answer = call.service.pipeline.run(parse(), deadline=call.deadline, listen=out.tell)
        observe(answer, protocol=protocol, first_text_ms=out.first_text_ms)
        if answer.text.startswith(said := out.said):
            out.tell(Delta(answer.text[len(said) :]))
        out.send(events.end(answer, out.said))
    except ClientGone as error:
        observe_error(error, code="client_gone", status=499)
    except Exception as error:  # noqa: BLE001 - told in the stream, as all errors are told
        failure = explain(error, wording)
        observe_error(error, code=failure.code, status=failure.status)
        return out.failed(failure)
    return out.response()


class _Out:
    """What was sent, and where to."""

    def __init__(self, stream: ResponseStream | None, events: Events) -> None:
        self._stream = stream
        self._events = events
        self._parts: list[bytes] = []
        self._open = False
        self._started = self._sent_at = time.monotonic()
        self._said: list[str] = []
        self.first_text_ms: float | None = None

    @property
    def said(self) -> str:
        """All text that was sent."""
        return "".join(self._said)

    def tell(self, told: Told) -> None:
        """Send what is told; of a text of ``""``, a sign of life when it is time."""
        if told == Delta(""):
            if self._stream and time.monotonic() - self._sent_at >= KEEP_ALIVE_S:
                self.send(KEEP_ALIVE)
            return
        if isinstance(told, Delta):
            if self.first_text_ms is None:
                self.first_text_ms = 1000 * (time.monotonic() - self._started)
            self._said.append(told.text)
        if data := self._events.told(told):
            self.send(data)

    def send(self, data: bytes) -> None:
        """Send ``data``, after what every stream begins with."""
        if not self._open:
            self._open = True
            if self._stream:
                self._stream.open(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, **HEADERS})
            self._write(self._events.begin)
        self._write(data)

    def failed(self, failure: Failure) -> Response:
        """Tell of ``failure``: as an event, and by the status where nothing is on its way yet."""
        if self._open and self._stream:
            with suppress(ClientGone):
                self.send(self._events.failure(failure))
            return self.response()
        return self._events.refusal(failure)

    def response(self) -> Response:
        """What the handler returns; what went to a stream is there already."""
        return Response(200, EVENT_STREAM, b"".join(self._parts).decode(), headers=dict(HEADERS))

    def _write(self, data: bytes) -> None:
        self._sent_at = time.monotonic()
        if self._stream is None:
            self._parts.append(data)
        elif data:
            self._stream.write(data)
