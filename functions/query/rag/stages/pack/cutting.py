"""Cutting a text to a budget of bytes without leaving half a sentence behind."""

from __future__ import annotations

import re

from rag.stages.pack.tokens import encode, size

ELLIPSIS = "..."
"""Says that a text goes on. ASCII, as it is one token in every vocabulary; U+2026 is three in some."""

# Before a line's end; after a sentence and what closes it, before white space; after one of a script without spaces.
_END = re.compile(r"(?=\n)|(?<=[.!?])[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_CHARACTER = re.compile(".", re.DOTALL)


def cut_to(text: str, max_bytes: int, *, anywhere: bool = False) -> str:
    """``text`` if it fits, else its longest beginning of whole sentences or lines that does, with an ellipsis.

    Args:
        text: what is to be cut.
        max_bytes: UTF-8 bytes that the result may have, its ellipsis included.
        anywhere: where no sentence or line fits, cut at a word, and where no word does, at a character.

    Returns:
        At most ``max_bytes`` bytes; ``""`` when nothing fits.
    """
    encoded = encode(text)
    if len(encoded) <= max_bytes:
        return text
    more = f" {ELLIPSIS}"
    longest = len(encoded[: max(0, max_bytes - size(more))].decode("utf-8", "ignore"))
    for end in (_END, _WORD_END, _CHARACTER) if anywhere else (_END,):
        last = max((match.end() for match in end.finditer(text) if match.end() <= longest), default=0)
        if beginning := text[:last].rstrip():
            return beginning + more
    return ""
