"""The text of a file: its bytes at one moment, decoded from any usual encoding; binary files are refused."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

READ_TRIES = 3
"""Attempts to read a file that changes meanwhile."""
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
MIN_COHERENCE = 0.3
"""Least coherence with a language's letters, by charset-normalizer: Russian and Arabic lines have .36 to .5, a text of
20 letters in a wrongly detected encoding has none."""
_RARE = ["mac_cyrillic", "mac_greek", "mac_latin2", "mac_iceland", "mac_turkish", "cp1125"]
_SAMPLE_BYTES = 1 << 16
_EAST_ASIAN = frozenset({"big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jp", "euc_kr", "gb18030"})
"""charset-normalizer gives them no coherence; they count if they fit without a flaw. Below ``MAX_HIGH_SHARE`` nothing
is guessed: in a table with few words "Köln" in Windows-1252 is taken for Big5."""


def file_bytes(path: Path, part: tuple[int, int] = (0, -1)) -> bytes:
    """Return the content of the file, or of a ``part`` of it, at one moment, whoever writes to it meanwhile.

    OSError: it cannot be read, or was being written all the time. ValueError: it is a pipe or a device.
    """
    for _ in range(READ_TRIES):
        with open(path, "rb", opener=_without_waiting) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise ValueError("is not a regular file")
            file.seek(part[0])
            data = file.read(part[1])
            after = path.stat()
            same = (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
            expected = part[1] if part[1] >= 0 else before.st_size
            if same and before.st_size == after.st_size and len(data) == expected:
                return data
    raise OSError("it changes while it is read; run the command again when it is written")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a pipe would wait for its writer for ever


def decode(data: bytes) -> tuple[str, str]:
    """Decode ``data``: the text with LF line ends, and a caveat (``""`` when there is none); ValueError: it is no text.

    UTF-8, or UTF-16/32 with a byte order mark; else Windows-1252, of which Latin-1's characters are a part, or what
    charset-normalizer finds (Shift-JIS, GB 18030, Windows-1251 and others); a UTF-8 text with some bad bytes keeps the
    rest.
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
        encoding = _guessed(data)
        return data.decode(encoding, errors="replace"), f"is not UTF-8: read as {encoding}"
    try:
        return data.decode("cp1252"), "is not UTF-8: read as Windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "is not UTF-8: read as Latin-1"


def _guessed(data: bytes) -> str:
    """Return Python's name of the encoding; ValueError: it cannot be detected."""
    from charset_normalizer import from_bytes  # most files never need it

    end = data.rfind(b"\n", 0, _SAMPLE_BYTES)  # no character is cut in two
    sample = data[:end] if len(data) > _SAMPLE_BYTES and end > 0 else data[:_SAMPLE_BYTES]
    best = from_bytes(sample, cp_exclusion=_RARE).best()
    fits = best is not None and best.encoding in _EAST_ASIAN and best.chaos == 0
    if best and (fits or best.coherence >= MIN_COHERENCE):
        return best.encoding
    raise ValueError("is neither UTF-8 nor in another encoding that can be told: save it as UTF-8")


def _strictly_or_replaced(data: bytes, encoding: str) -> tuple[str, str]:
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return text, f"holds bytes that are not {encoding.upper()}: replaced"


def _share(data: bytes, of: bytes) -> float:
    return (len(data) - len(data.translate(None, of))) / max(1, len(data))
