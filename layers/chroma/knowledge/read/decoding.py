"""Bytes of a text file as text, whatever wrote them; and a refusal of what is no text."""

from __future__ import annotations

import codecs

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with theirs
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if chr(code) not in "\t\n\f\r\x1b") + b"\x7f"
_HIGH = bytes(range(128, 256))
MAX_CONTROL_SHARE = 0.02
"""Share of control characters above which bytes are not a text (random bytes have .12)."""
MAX_HIGH_SHARE = 0.3
"""Share of bytes >= 128 above which bytes that are not UTF-8 are not Latin-1 either (French has .05, Cyrillic .8)."""


def decode(data: bytes) -> tuple[str, str]:
    """Decode ``data``: the text with LF line ends, and a caveat (``""`` when there is none).

    UTF-8, or UTF-16/32 with a byte order mark; else Windows-1252, of which Latin-1's characters are a part; a UTF-8
    text with some bad bytes keeps the rest.

    Raises:
        ValueError: the bytes are not text.
    """
    text, caveat = _decode(data)
    return text.replace("\r\n", "\n").replace("\r", "\n"), caveat


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark) and (encoding != "utf-8" or b"\0" not in data):
            return _strictly_or_replaced(data[len(mark) :], encoding)
    if b"\0" in data or _share(data, _CONTROLS) > MAX_CONTROL_SHARE:
        raise ValueError("is a binary file, not text")
    text, caveat = _strictly_or_replaced(data, "utf-8")
    if not caveat:
        return text, ""
    bad = text.count("\ufffd")
    if sum(1 for char in text if ord(char) > 127) - bad > bad:  # most of what is not ASCII is UTF-8
        return text, caveat
    if _share(data, _HIGH) > MAX_HIGH_SHARE:
        raise ValueError("is neither UTF-8 nor Latin-1 text: save it as UTF-8")
    try:
        return data.decode("cp1252"), "is not UTF-8: read as Windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "is not UTF-8: read as Latin-1"


def _strictly_or_replaced(data: bytes, encoding: str) -> tuple[str, str]:
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return text, f"holds bytes that are not {encoding.upper()}: replaced"


def _share(data: bytes, of: bytes) -> float:
    return (len(data) - len(data.translate(None, of))) / max(1, len(data))
