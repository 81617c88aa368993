"""Values of MCP's headers: text that a header cannot carry stands there as ``=?base64?...?=``."""

from __future__ import annotations

import base64
import binascii
import re

_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")


def decoded(value: str | None) -> str | None:
    """What a header says; None where there is none, or where it cannot be read."""
    wrapped = _WRAPPED.fullmatch(value) if value is not None else None
    if wrapped is None:
        return value
    try:
        raw = base64.b64decode(wrapped[1], validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == wrapped[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
