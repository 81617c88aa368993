"""What a text says to those that decode it: browsers read character references, addresses read percent-encoding."""

from __future__ import annotations

from html import unescape
from urllib.parse import unquote

MAX_LAYERS = 3
"""Encodings of encodings are followed so far: ``%253C`` has two."""


def readings(text: str) -> tuple[str, ...]:
    """``text`` as it stands, then each other text that decoding it gives, once."""
    found = [text, unescape(text)]
    decoded = text
    for _ in range(MAX_LAYERS):
        decoded = unescape(unquote(decoded))
        found.append(decoded)
    return tuple(dict.fromkeys(found))
