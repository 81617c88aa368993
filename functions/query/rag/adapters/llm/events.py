"""Server-sent events out of bytes that come piece by piece, by WHATWG's rules for a ``text/event-stream``."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """``name`` is ``""`` where the stream gives none; ``data`` is its lines with LF between them."""

    name: str
    data: str


class EventReader:
    """The events of one stream. ``openai`` has such a reader of its own: private, and without the byte order mark."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._begun = self._after_cr = False
        self._name = ""
        self._data: list[str] = []

    def take(self, part: bytes) -> list[Event]:
        """The events that end within ``part``, the next bytes of the stream."""
        if self._after_cr and part:
            part = part.removeprefix(b"\n")
            self._after_cr = False
        lines = _LINE_END.split(part)
        self._after_cr = part.endswith(b"\r")
        self._rest += lines[0]
        found: list[Event] = []
        for line in lines[1:]:
            found += self._line(bytes(self._rest))
            self._rest = bytearray(line)
        return found

    def end(self) -> list[Event]:
        """What came last, where the server left out the line ends after it; it may be half an event."""
        return [*self._line(bytes(self._rest)), *self._line(b"")]

    def _line(self, line: bytes) -> list[Event]:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line:
            made = [Event(self._name, "\n".join(self._data))] if self._data else []
            self._name, self._data = "", []
            return made
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return []
