"""Outlook's messages (.msg) as messages of the internet. The numbers are those of properties, [MS-OXPROPS]."""

from __future__ import annotations

import struct
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from email.parser import HeaderParser
from email.utils import format_datetime

from olefile import OleFileIO
from oxmsg.domain.encodings import encoding_from_codepage
from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError
from oxmsg.storage import Storage

OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def read_outlook(data: bytes) -> Message:
    """Return the message in a file."""
    with OleFileIO(data) as ole:
        return _message(Storage.from_ole(ole), 32)


class _Properties:
    """The properties of a message or a file: those of fixed size begin at ``offset``, ``charset`` is the body's.

    oxmsg's own raise where a text is missing or badly encoded: 5 of 64 messages of public test suites.
    """

    def __init__(self, storage: Storage, offset: int) -> None:
        self._streams = {one.name[12:].upper(): one.bytes_ for one in storage.streams}
        table = self._streams.get("_VERSION1.0", b"")[offset:]
        self.numbers = {one[1]: one[3] for one in struct.iter_unpack("<HHIQ", table[: len(table) // 16 * 16])}
        self.charset = self._charset(0x3FDE, 0x3FFD)

    def _charset(self, *pids: int) -> str:
        page = next(filter(None, (self.numbers.get(pid, 0) & 0xFFFF for pid in pids)), 1252)
        with suppress(UnrecognizedCodePageError, UnsupportedEncodingError):
            return f"cp{page}" if page < 20_000 else encoding_from_codepage(page)
        return "cp1252"

    def data(self, pid: int) -> bytes:
        """Return a property, text as UTF-8 if it is Unicode there."""
        if text := self._streams.get(f"{pid:04X}001F"):
            return text.decode("utf-16-le", "replace").encode(errors="replace")
        return self._streams.get(f"{pid:04X}001E") or self._streams.get(f"{pid:04X}0102") or b""

    def text(self, *pids: int) -> str:
        """Return the first of these texts, ``""`` if there is none."""
        data = next(filter(None, map(self.data, pids)), b"").rstrip(b"\0")
        for name in ("utf-8", self._charset(0x3FFD, 0x3FDE)):
            with suppress(ValueError, LookupError):
                return data.decode(name)
        return data.decode("cp1252", "replace")


def _message(storage: Storage, offset: int) -> Message:
    mail, own = Message(), _Properties(storage, offset)
    ticks = own.numbers.get(0x0039) or own.numbers.get(0x0E06) or 0  # of 100 ns: when it was sent, or delivered
    sent = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(seconds=min(ticks // 10**7, 10**11))
    name = own.text(0x0C1A, 0x0042).replace('"', "")
    headers = {
        "Subject": own.text(0x0037),
        "From": f'"{name}" <{own.text(0x5D01, 0x0C1F) or "-"}>',
        "Date": format_datetime(sent) if ticks else "",
        "Message-ID": own.text(0x1035),
        "In-Reply-To": own.text(0x1042),
        "References": own.text(0x1039),
        **HeaderParser().parsestr(own.text(0x007D)),
    }
    for header, value in headers.items():
        if value and not header.lower().startswith("content-"):
            mail[header] = value
    bodies = make_part("multipart/alternative")
    for kind, pid in (("plain", 0x1000), ("html", 0x1013)):
        bodies.attach(make_part(f"text/{kind}; charset={own.charset}", own.data(pid)))
    mail["Content-Type"] = "multipart/mixed"
    mail.attach(bodies)
    for one in storage.iter_attachment_storages():
        mail.attach(_attachment(one))
    return mail


def _attachment(storage: Storage) -> Message:
    own = _Properties(storage, 8)
    mime_type, data = own.text(0x370E), own.data(0x3701)
    if mime_type == "multipart/signed":  # the message itself
        return message_from_bytes(data)
    inner = [_message(one, 24) for one in storage.storages if one.name.endswith("3701000D")]
    if inner and own.numbers.get(0x3705, 0) & 0xFFFF == 5:  # by its method, which may also be a picture or a link
        part = make_part("message/rfc822")
        part.attach(inner[0])
        return part
    part = make_part(mime_type if "/" in mime_type else "application/octet-stream", data)
    part.add_header("Content-Disposition", "attachment", filename=own.text(0x3707, 0x3704, 0x3001))
    if own.data(0x3712):
        part["Content-ID"] = "-"  # it is shown in the text
    return part


def make_part(kind: str, data: bytes = b"") -> Message:
    """Return a part of a message with that content."""
    part = Message()
    part["Content-Type"] = kind
    if data:
        part["Content-Transfer-Encoding"] = "base64"
        part.set_payload(b64encode(data).decode())
    return part
